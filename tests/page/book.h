// SPDX-License-Identifier: Apache-2.0
// tests/page/book.h - made-up histories for the page: known steps in known noise.
#ifndef FOVEA_TESTS_PAGE_BOOK_H
#define FOVEA_TESTS_PAGE_BOOK_H

#include "history/history.h"

/// What is made. Benchmark i of n: i % 8 == 1 gets 12 % slower for the last tenth of its runs, i % 8 == 3 gets 8 %
/// faster there, i % 16 == 5 is 15 % slower in the middle third only, i % 16 == 13 is 20 % slower since the middle and
/// acknowledged; all others are steady. Noise is 1 %, there are five repetitions in each run. Branches but the first
/// have the last five runs only, and in the very last one i % 8 == 6 takes half as long again. In rich ones i % 8 == 2
/// is disturbed in the middle one and in the very last one of its runs, which take 60 % longer.
struct page_book_shape {
    size_t benchmarks, runs; ///< of every machine and branch
    size_t machines, branches;
    bool rich;  ///< instructions and peers beside time and % of peak, a compiler that changes, a benchmark of 3 runs
    bool nasty; ///< names and facts that try to break out of the page
    bool storm; ///< every point is disturbed
};

/// False: no memory. The same shape always gives the same book.
bool page_book_make(struct history_book *book, const struct page_book_shape *shape);
void page_book_free(struct history_book *book);

#endif
