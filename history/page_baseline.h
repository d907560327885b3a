// SPDX-License-Identifier: Apache-2.0
// history/page_baseline.h - series of branches that go on from those of a baseline.
#ifndef FOVEA_HISTORY_PAGE_BASELINE_H
#define FOVEA_HISTORY_PAGE_BASELINE_H

#include "history/history.h"

/// The branch that others come from where nobody says so: main, else master, else NULL.
const char *page_baseline_of(const struct history_book *book);

/// The same book, in which the series of every branch but the baseline begin with the points and acknowledgements that
/// the baseline has before their own first run. So a branch of one run is judged by what came before it. Its series
/// live in `lined->memory`, all else in the book. False: no memory. With a baseline of NULL it is a copy of the struct.
bool page_baseline(const struct history_book *book, const char *baseline, struct history_book *lined);
void page_baseline_free(struct history_book *lined);

#endif
