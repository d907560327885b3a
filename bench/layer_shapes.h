// SPDX-License-Identifier: Apache-2.0
// bench/layer_shapes.h - the shapes of the layer suite, as data.
#ifndef FOVEA_BENCH_LAYER_SHAPES_H
#define FOVEA_BENCH_LAYER_SHAPES_H

#include <stddef.h>

/// What a layer is made of; each bit is a line of a shape.
enum layer_kind {
    LAYER_ENCODER = 1,      ///< LayerNorm after each half, GELU, biases: BERT
    LAYER_ENCODER_PRE = 2,  ///< the same, LayerNorm before: ViT
    LAYER_DECODE = 4,       ///< of a decoder-only stack with a cache: LayerNorm before, GELU by tanh, biases: GPT-2
    LAYER_DECODE_GATED = 8, ///< the same: RMSNorm before, SwiGLU, rotary positions, no biases: Llama
    LAYER_DECODE_BF16 = 16, ///< DECODE and DECODE_GATED, with weights and caches of bf16; other libraries have the same
    LAYER_DECODE_GATED_BF16 = 32, ///< numbers as f32
    LAYER_DECODE_S8 = 64,         ///< the same two with weights of 8 bits, and caches of bf16
    LAYER_DECODE_GATED_S8 = 128,
};

struct layer_shape {
    const char *model; ///< where it is met
    unsigned suite;    ///< the first enum bench_suite that has it
    unsigned kinds;    ///< of enum layer_kind
    size_t batch, len;
    size_t keys; ///< positions of each sequence, of which the call has the last len; an encoder: len
    size_t width, heads, kv_heads, ffn;
};

extern const struct layer_shape layer_shapes[];
extern const size_t layer_shapes_count;

#endif
