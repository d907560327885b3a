// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_terms.h - the terms that change a score: softcap, ALiBi, bias.
//
// Part of attention_decode_chunk.h.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_TERMS_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_TERMS_H

#include "kernels/common/attention.h"

/// Applies the softcap to the scores.
static void decode_cap(const struct fovea_attention_chunk *chunk, float *s)
{
    for (size_t r = 0; r < chunk->state.rows; r++) {
        for (size_t j = 0; j < chunk->keys; j += FV_LANES) {
            float *const at = s + r * FOVEA_CHUNK + j;
            fv_store(at, attention_cap(chunk, fv_load(at)));
        }
    }
}

/// Applies ALiBi: scores fall with the distance of their keys.
static void decode_fall(const struct fovea_attention_chunk *chunk, float *s)
{
    static const float lane[FOVEA_PANEL] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (size_t r = 0; r < chunk->state.rows; r++) {
        const fv_f32 fall = fv_set1(chunk->falls[r]), position = fv_set1(chunk->positions[r]);
        for (size_t j = 0; j < chunk->keys; j += FV_LANES) {
            float *const at = s + r * FOVEA_CHUNK + j;
            const fv_f32 key = fv_add(fv_set1((float)chunk->key), fv_add(fv_set1((float)j), fv_load(lane)));
            fv_store(at, attention_fall(fall, key, position, fv_load(at)));
        }
    }
}

/// Adds the biases, and clears the bits of seen where a bias is -inf.
static void decode_bias(const struct fovea_attention_chunk *chunk, uint64_t *seen, float *s)
{
    for (size_t r = 0; r < chunk->state.rows; r++) {
        for (size_t j = 0; j < chunk->keys; j += FOVEA_PANEL) {
            const size_t keys = attention_min(FOVEA_PANEL, chunk->keys - j);
            float bias[FOVEA_PANEL];
            attention_bias(chunk, r, j, keys, bias);
            const uint64_t hidden = attention_add_bias(s + r * FOVEA_CHUNK + j, bias);
            for (size_t i = 0; i < keys && hidden != 0; i++) {
                seen[j + i] &= ~((hidden >> i & 1) << r);
            }
        }
    }
}

/// Applies the terms that the chunk has, in the order of docs/numerics.md.
static inline __attribute__((always_inline)) void decode_terms(const struct fovea_attention_chunk *chunk,
                                                               uint64_t *seen, float *s)
{
    if (chunk->softcap != 0.0f) {
        decode_cap(chunk, s);
    }
    if (chunk->bias) {
        decode_bias(chunk, seen, s);
    }
    if (chunk->falls) {
        decode_fall(chunk, s);
    }
}

#endif
