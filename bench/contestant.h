// SPDX-License-Identifier: Apache-2.0
// bench/contestant.h - whoever can compute a product: fovea, and the libraries it is raced against.
#ifndef FOVEA_BENCH_CONTESTANT_H
#define FOVEA_BENCH_CONTESTANT_H

#include "bench/problem.h"

struct contestant {
    char name[80];
    const void *state;
    /// Gets ready for a problem, with B as it lies or (packed) prepared beforehand in a form of its own. NULL where
    /// this contestant cannot do it. The problem outlives what is prepared.
    void *(*prepare)(const void *state, const struct gemm_problem *problem, bool packed);
    /// Computes C with matrix `index` of the set.
    void (*run)(void *prepared, size_t index);
    void (*release)(void *prepared);
};

/// What fovea runs with; the state of its contestant.
struct bench_fovea {
    const struct fovea_engine *engine;
    const struct fovea_executor *executor; ///< NULL: the calling thread
};
struct contestant bench_fovea(const struct bench_fovea *with);

#endif
