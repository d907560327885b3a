// SPDX-License-Identifier: Apache-2.0
// bench/attention_problem.h - one line of the attention suite: operands, plan, and whether the result is right.
#ifndef FOVEA_BENCH_ATTENTION_PROBLEM_H
#define FOVEA_BENCH_ATTENTION_PROBLEM_H

#include "bench/attention_shapes.h"
#include "bench/race.h"
#include "fovea/attention.h"

struct attention_problem {
    const struct attention_shape *shape;
    enum attention_kind kind;
    const struct fovea_executor *executor; ///< NULL: the calling thread
    struct fovea_attention_desc desc;
    struct fovea_attention_args args;
    size_t count, cache_floats; ///< caches that calls take in turns, one behind the other, and floats of each
    size_t v_offset;            ///< floats from a cache's K to its V
    float *memory;
    size_t memory_bytes;
    void *plan, *shared, *scratch;
    size_t plan_bytes, shared_bytes, scratch_bytes;
};

/// Allocates, fills and plans (shape, kind and executor are set already). llc_bytes: the last-level cache. False
/// without memory; what there is must be freed.
bool attention_problem_make(struct attention_problem *problem, const struct fovea_engine *engine, size_t llc_bytes);
void attention_problem_free(struct attention_problem *problem);
/// A call with cache `index` of the set.
void attention_problem_run(void *problem, size_t index);
/// Multiply-adds that the masks leave count twice; what is read of a cache streams.
struct race_load attention_problem_load(const struct attention_problem *problem, uint32_t threads);
/// Compares rows of the output with float64, for cache 0: whether all are within 1e-5. Dropout is not looked at.
bool attention_problem_check(const struct attention_problem *problem);

#endif
