// SPDX-License-Identifier: Apache-2.0
// bench/fovea.h - fovea as a contestant: plan, memory and blobs made once, runs without allocation.
#ifndef FOVEA_BENCH_FOVEA_H
#define FOVEA_BENCH_FOVEA_H

#include "bench/contestant.h"
#include "fovea/engine.h"
#include "fovea/executor.h"

/// What it runs with; the state of the contestant.
struct bench_fovea {
    const struct fovea_engine *engine;
    const struct fovea_executor *executor; ///< NULL: the calling thread
};
struct contestant bench_fovea_gemm(const struct bench_fovea *with);
struct contestant bench_fovea_attention(const struct bench_fovea *with);
struct contestant bench_fovea_layer(const struct bench_fovea *with);

/// A plan and what it works in. Begins as zeros.
struct bench_work {
    void *plan, *shared, *scratch;
    size_t plan_bytes, shared_bytes, scratch_bytes;
};
/// Allocates memory for a plan; NULL without.
void *bench_work_plan(struct bench_work *work, size_t plan_bytes);
/// And, after the plan was made, for its calls. False without memory; what there is must be freed.
bool bench_work_make(struct bench_work *work, const struct fovea_executor *executor);
void bench_work_free(struct bench_work *work);

#endif
