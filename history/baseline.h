// SPDX-License-Identifier: Apache-2.0
// history/baseline.h - the series of a branch behind the runs that it came from: what check judges and the page shows.
#ifndef FOVEA_HISTORY_BASELINE_H
#define FOVEA_HISTORY_BASELINE_H

#include "history/arena.h"
#include "history/history.h"

/// The series of the same figure and machine on another branch; NULL where there is none.
const struct history_series *baseline_of(const struct history_book *book, size_t index, const char *branch);

/// Puts what `base` (NULL: nothing) has before the first run of `own` in front of it: points, disturbed ones and
/// acknowledgements, which name places in `line`. Of all points the newest `most` are kept; *before is how many of them
/// are the baseline's. `own` has a point. False without memory.
bool baseline_join(struct arena_block **arena, const struct history_series *base, const struct history_series *own,
                   size_t most, struct history_series *line, size_t *before);

#endif
