// SPDX-License-Identifier: Apache-2.0
// bench/attention_shapes.h - the shapes of the attention suite, as data.
#ifndef FOVEA_BENCH_ATTENTION_SHAPES_H
#define FOVEA_BENCH_ATTENTION_SHAPES_H

#include <stddef.h>

/// What a line asks for; each bit is a line of a shape.
enum attention_kind {
    ATTENTION_FULL = 1,
    ATTENTION_CAUSAL = 2,
    ATTENTION_PADDED = 4, ///< half of the keys count
    ATTENTION_WINDOW = 8, ///< causal, 256 keys to the left
    ATTENTION_MASK = 16,  ///< a boolean mask that hides nothing
    ATTENTION_SOFTCAP = 32,
    ATTENTION_ALIBI = 64, ///< causal
    ATTENTION_DROPOUT = 128,
    ATTENTION_STATISTICS = 256,
    ATTENTION_DECODE = 512, ///< K in panels, the cache in memory
    ATTENTION_DECODE_ROWS = 1024,
    ATTENTION_DECODE_MASK = 2048, ///< K in panels, half of the keys hidden at random
    ATTENTION_DECODE_L2 = 4096,   ///< K in panels, one small cache that stays where it is
    ATTENTION_DECODE_ROWS_L2 = 8192,
    ATTENTION_DECODE_BF16 = 16384, ///< as DECODE, but elements of 16 bits; other libraries have the same as f32
    ATTENTION_DECODE_F16 = 32768,
};

struct attention_shape {
    const char *model; ///< where it is met
    unsigned suite;    ///< the first enum bench_suite that has it
    unsigned kinds;    ///< of enum attention_kind
    size_t batch, heads, kv_heads, q_len, kv_len, dim;
};

extern const struct attention_shape attention_shapes[];
extern const size_t attention_shapes_count;

#endif
