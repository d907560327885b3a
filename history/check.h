// SPDX-License-Identifier: Apache-2.0
// history/check.h - is the newest run, or that of one commit, slower than the ones before it?
#ifndef FOVEA_HISTORY_CHECK_H
#define FOVEA_HISTORY_CHECK_H

#include "history/history.h"

struct check_options {
    const char *commit;   ///< the last run of this commit is the newest that counts; NULL: all runs count
    const char *branch;   ///< of the runs that are judged
    const char *baseline; ///< the branch whose runs come before theirs; NULL: the same
    size_t recent;        ///< a change that begins this many runs back, or fewer, counts
    struct history_test test;
};

enum check_kind { CHECK_REGRESSION, CHECK_ACKNOWLEDGED, CHECK_IMPROVEMENT };

/// A change of a series.
struct check_finding {
    const struct history_series *series;
    enum check_kind kind;
    struct history_change change;
    size_t good, bad; ///< indices of runs: the last before it, the first behind it
    size_t runs;      ///< of the new level
    bool jump;        ///< too few runs for the detector, but far outside everything before
};

struct check {
    struct check_finding *findings; ///< regressions first, the worst ones in front
    size_t count, regressions;
    size_t judged;           ///< series with enough runs
    size_t too_short;        ///< series with fewer
    size_t disturbed;        ///< points that the book's filter left out
    size_t disturbed_newest; ///< those of the newest run among them: of these series it says nothing
    void *memory;
};

/// Checks all series of a book whose metric has a direction. False without memory, or (with *missing) where the book
/// has no run of that commit.
bool history_check(const struct history_book *book, const struct check_options *options, struct check *check,
                   bool *missing);
/// Frees it. A check of zeros is legal.
void check_free(struct check *check);

#endif
