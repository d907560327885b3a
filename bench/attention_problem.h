// SPDX-License-Identifier: Apache-2.0
// bench/attention_problem.h - one line of the attention suite: its operands, and whether a result is right.
#ifndef FOVEA_BENCH_ATTENTION_PROBLEM_H
#define FOVEA_BENCH_ATTENTION_PROBLEM_H

#include "bench/attention_shapes.h"
#include "bench/race.h"
#include "fovea/attention.h"

/// What those kinds that read a cache have in common, and those whose caches come from memory; and those in which row i
/// does not see keys behind its own.
enum {
    ATTENTION_HALVES = ATTENTION_DECODE_BF16 | ATTENTION_DECODE_F16,
    ATTENTION_STREAMED = ATTENTION_DECODE | ATTENTION_DECODE_ROWS | ATTENTION_DECODE_MASK | ATTENTION_HALVES,
    ATTENTION_CACHED = ATTENTION_STREAMED | ATTENTION_DECODE_L2 | ATTENTION_DECODE_ROWS_L2,
    ATTENTION_ORDERED = ATTENTION_CAUSAL | ATTENTION_WINDOW | ATTENTION_ALIBI,
    ATTENTION_WINDOW_LEFT = 256,
};

struct attention_problem {
    const struct attention_shape *shape;
    enum attention_kind kind;
    const struct fovea_executor *executor; ///< NULL: the calling thread
    uint32_t threads;
    size_t offset; ///< bytes by which all operands begin behind a cache line
    struct fovea_attention_desc desc;
    struct fovea_attention_args args; ///< but k and v
    size_t count, cache_floats;       ///< caches that calls take in turns, one behind the other, and floats of each
    size_t v_offset;                  ///< floats from a cache's K to its V
    float *memory;                    ///< offset behind what was allocated
    uint16_t *halves;                 ///< NULL, or the elements of all caches, in the same order, as 16 bits
    size_t memory_bytes, halves_bytes;
};

/// Allocates and fills (shape, kind, executor and threads are set already). Caches in memory are more than
/// walk_bytes. False without memory.
bool attention_problem_make(struct attention_problem *problem, size_t walk_bytes);
void attention_problem_free(struct attention_problem *problem);
/// Multiply-adds that the masks leave count twice; what is read of a cache in memory streams.
struct race_load attention_problem_load(const struct attention_problem *problem);
/// The race for it. Rows of the output are compared with float64, for cache 0: all within 1e-5. Dropout is not looked
/// at.
struct race_problem attention_problem_race(const struct attention_problem *problem);

/// Keys [first, end) that causal order, the window and the length leave to row i. A mask may hide some of them.
struct attention_keys {
    size_t first, end;
};
struct attention_keys attention_problem_keys(const struct attention_problem *problem, size_t i);
/// Whether row i sees key j.
bool attention_problem_sees(const struct attention_problem *problem, size_t i, size_t j);
/// What is added to the score of a key that is as far from the query as that: 0, or ALiBi.
float attention_problem_bias(const struct attention_problem *problem, size_t i, size_t j);
/// A copy of all caches with K and V as (B, Hkv, Skv, D), at cache_floats and v_offset as theirs; memory_bytes of them
/// and all. NULL without memory.
float *attention_problem_rows(const struct attention_problem *problem);

#endif
