// SPDX-License-Identifier: Apache-2.0
// bench/contestant.h - whoever can do a problem of a suite: fovea, and the libraries it is raced against.
#ifndef FOVEA_BENCH_CONTESTANT_H
#define FOVEA_BENCH_CONTESTANT_H

#include <stdbool.h>
#include <stddef.h>

/// Of one suite: its problems are all struct gemm_problem, all struct attention_problem, or all struct layer_problem.
struct contestant {
    char name[80];
    const void *state;
    /// Gets ready for a problem, with B as it lies or (packed) prepared beforehand in a form of its own. NULL where
    /// this contestant cannot do it. The problem outlives what is prepared.
    void *(*prepare)(const void *state, const void *problem, bool packed);
    /// Computes the result with operands `index` of the set.
    void (*run)(void *prepared, size_t index);
    void (*release)(void *prepared);
    /// Bytes that a call works in, beside operands and result. NULL: that cannot be said.
    size_t (*work_bytes)(const void *prepared);
    /// The error that it may have, in units of what others may: it computes with fewer bits. NULL: as exact as they.
    double (*coarse)(const void *prepared);
};

#endif
