// SPDX-License-Identifier: Apache-2.0
// ops/caches.h - the geometry of caches that plans assume on every machine: which lines meet in one set.
//
// The sizes of this machine's caches are in the tuning (kernels/tuning.h); they say what fits, not where it lies.
#ifndef FOVEA_OPS_CACHES_H
#define FOVEA_OPS_CACHES_H

#include "kernels/table.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    FOVEA_L1_SETS = 64,                        ///< of L1 on x86, whose ways are pages of 4 KiB
    FOVEA_L1_WAY = FOVEA_L1_SETS * FOVEA_LINE, ///< floats after which the sets of L1 repeat
    FOVEA_L2 = 16 * 1024 * FOVEA_LINE,         ///< floats of an L2 of 1 MiB, as Zen 4 (8 ways, 2048 sets), Zen 5 and
                                               ///< Cascade Lake (16 ways, 1024 sets) have
};

/// How much of an L2 `lines` lines take, `ld` floats apart, in floats to compare with FOVEA_L2. If ld is an odd
/// multiple of 2^i they meet in the same sets as lines 2^i apart, and fill the ways of these like lines * 2^i
/// floats in order fill those of all sets.
static inline size_t fovea_l2_taken(size_t lines, size_t ld)
{
    return lines * (ld & -ld);
}

/// Whether rows ld floats apart, the first of which begins on a cache line, begin within lines: each load of a line's
/// width then touches two.
static inline bool fovea_splits_lines(size_t ld)
{
    return ld % FOVEA_LINE != 0;
}

#endif
