// SPDX-License-Identifier: Apache-2.0
// history/compare.h - two runs of the history, benchmark by benchmark.
#ifndef FOVEA_HISTORY_COMPARE_H
#define FOVEA_HISTORY_COMPARE_H

#include "history/history.h"

enum { COMPARE_REPETITIONS = 4 }; ///< fewer on a side say nothing: 3 against 3 cannot be significant at 5 %

/// A figure on both sides.
struct compare_line {
    const struct history_series *series; ///< of the first side
    size_t counts[2];                    ///< repetitions
    double medians[2];
    double change; ///< second / first - 1; infinite from 0 on, unless both are
    double p;      ///< of Mann and Whitney's test; 1 with too few repetitions
    bool enough;   ///< repetitions on both sides
    int verdict;   ///< -1 worse, 1 better, 0 no difference that is significant, large enough and has a direction
};

struct compare {
    struct compare_line *lines; ///< worse ones first, the worst in front; then by name
    size_t count, worse, better, judged;
    size_t disturbed; ///< figures without a line: all that a side has of them the book's filter left out
    double geomean;   ///< of second / first over real_time; 1 where there is none
};

/// Compares runs named by commit, or by number ("@12"), with all their repetitions. Runs given by number may be of
/// different machines; commits are compared on each machine apart. The book has repetitions. `effect`: smaller changes
/// are none. False: *unknown is the name that has no run, or there is no memory.
bool history_compare(const struct history_book *book, const char *const names[2], double effect,
                     struct compare *compare, const char **unknown);
/// Frees it. One of zeros is legal.
void compare_free(struct compare *compare);

#endif
