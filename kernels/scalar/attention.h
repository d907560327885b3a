// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention.h - one chunk of keys against one query row, the definition (docs/numerics.md section 3).
//
// Prefill and decode differ only in the layout of q and the strides of O, so all kernels are this code. Decode may also
// return scores, and finds K and V in blocks, perhaps of 16-bit elements.
#ifndef FOVEA_KERNELS_SCALAR_ATTENTION_H
#define FOVEA_KERNELS_SCALAR_ATTENTION_H

#include "kernels/kernel.h"
#include "kernels/scalar/exp2.h"
#include "kernels/scalar/sleef.h"

#include <math.h>

/// A query in memory: element c is first[c * step].
struct scalar_vector {
    const float *first;
    ptrdiff_t step;
};

/// K and V of a chunk, in one piece or, if there are blocks, in blocks of 16 keys. load gives element i of a matrix.
struct scalar_keys {
    const void *k, *v;
    const struct fovea_attention_blocks *blocks;
    float (*load)(const void *matrix, ptrdiff_t i);
};

static inline float scalar_load(const void *matrix, ptrdiff_t i)
{
    return ((const float *)matrix)[i];
}

/// Element c of key j of K: in rows, or in panels of 16 keys, (j / 16) * 16 * qk_dim + c * 16 + j % 16.
static inline __attribute__((always_inline)) float scalar_k(const struct fovea_attention_chunk *chunk,
                                                            struct scalar_keys keys, size_t j, size_t c)
{
    const void *const matrix = keys.blocks ? keys.blocks->k[j / FOVEA_PANEL] : keys.k;
    j = keys.blocks ? j % FOVEA_PANEL : j;
    const size_t panel = j / FOVEA_PANEL * FOVEA_PANEL * chunk->qk_dim + c * FOVEA_PANEL + j % FOVEA_PANEL;
    return keys.load(matrix, chunk->k_row ? (ptrdiff_t)j * chunk->k_row + (ptrdiff_t)c : (ptrdiff_t)panel);
}

static inline __attribute__((always_inline)) float scalar_v(const struct fovea_attention_chunk *chunk,
                                                            struct scalar_keys keys, size_t j, size_t c)
{
    const void *const matrix = keys.blocks ? keys.blocks->v[j / FOVEA_PANEL] : keys.v;
    j = keys.blocks ? j % FOVEA_PANEL : j;
    return keys.load(matrix, (ptrdiff_t)j * chunk->v_row + (ptrdiff_t)c);
}

/// Scores of the keys that row r sees, in ascending order; key[i] is the key of score s[i]. Returns their number.
/// A key that the mask hides is not loaded.
static inline __attribute__((always_inline)) size_t scalar_attention_scores(const struct fovea_attention_chunk *chunk,
                                                                            struct scalar_keys keys, size_t r,
                                                                            struct scalar_vector q, float *s,
                                                                            size_t *key)
{
    size_t seen = 0;
    for (size_t j = 0; j < chunk->keys; j++) {
        if (chunk->visible && !(chunk->visible[j] >> r & 1)) {
            continue;
        }
        const float *const bias = chunk->bias ? chunk->bias[r] + (ptrdiff_t)j * chunk->bias_key : NULL;
        if (bias && *bias == -INFINITY) {
            continue;
        }
        float score = 0.0f;
        for (size_t c = 0; c < chunk->qk_dim; c++) {
            const float a = q.first[(ptrdiff_t)c * q.step], b = scalar_k(chunk, keys, j, c);
            score = chunk->additive ? fmaf(chunk->additive[r][c], scalar_tanh(a + b), score) : fmaf(a, b, score);
        }
        if (chunk->softcap != 0.0f) {
            score = chunk->softcap * scalar_tanh(score * chunk->cap_inverse);
        }
        score = bias ? score + *bias : score;
        if (chunk->falls) {
            score = fmaf(chunk->falls[r], fabsf((float)chunk->key + (float)j - chunk->positions[r]), score);
        }
        s[seen] = score;
        key[seen] = j;
        seen++;
    }
    return seen;
}

/// Updates the statistics of row r after a chunk with scores s[0..seen) and the new maximum m. m and l of the state are
/// still old.
static inline void scalar_attention_statistics(const struct fovea_attention_chunk *chunk, size_t r, const float *s,
                                               const size_t *key, size_t seen, float m)
{
    const struct fovea_attention_state *const state = &chunk->state;
    const float ms = m == -INFINITY ? 0.0f : m;
    const float old = (state->m[r] - ms) * scalar_ln2e;
    float spread = 0.0f;
    for (size_t i = 0; i < seen; i++) {
        const float x = (s[i] - ms) * scalar_ln2e;
        spread = fmaf(scalar_exp2(x), x < -127.0f ? -127.0f : x, spread);
    }
    const float shifted = fmaf(old < -127.0f ? -127.0f : old, state->l[r], state->spread[r]);
    state->spread[r] = fmaf(shifted, scalar_exp2(old), spread);
    for (size_t i = 0; i < seen && m > state->m[r]; i++) {
        if (s[i] == m) {
            state->top[r] = chunk->key + (uint32_t)key[i];
            break;
        }
    }
}

/// Element c of row r of O.
static inline float *scalar_attention_o(const struct fovea_attention_state *state, size_t r, size_t c)
{
    return state->o + (ptrdiff_t)r * state->o_row + (ptrdiff_t)c * state->o_col;
}

/// Updates the state of row r by the chunk. A row that sees no key keeps its state.
static inline __attribute__((always_inline)) void scalar_attention_row(const struct fovea_attention_chunk *chunk,
                                                                       struct scalar_keys keys, size_t r,
                                                                       struct scalar_vector q)
{
    const struct fovea_attention_state *const state = &chunk->state;
    float p[FOVEA_CHUNK]; // scores, then probabilities
    size_t key[FOVEA_CHUNK];
    const size_t seen = scalar_attention_scores(chunk, keys, r, q, p, key);
    for (size_t c = 0; c < state->v_dim && chunk->fresh && seen == 0; c++) {
        *scalar_attention_o(state, r, c) = 0.0f;
    }
    if (seen == 0) {
        return;
    }

    float m = state->m[r];
    for (size_t i = 0; i < seen; i++) {
        m = p[i] > m ? p[i] : m;
    }
    if (state->spread) {
        scalar_attention_statistics(chunk, r, p, key, seen, m);
    }
    const float ms = m == -INFINITY ? 0.0f : m;
    const float alpha = scalar_exp2((state->m[r] - ms) * scalar_ln2e);

    float lc = 0.0f;
    for (size_t i = 0; i < seen; i++) {
        p[i] = scalar_exp2((p[i] - ms) * scalar_ln2e);
        lc = lc + p[i];
        if (chunk->keep) {
            p[i] = chunk->keep[key[i]] >> r & 1 ? p[i] * chunk->keep_scale : 0.0f;
        }
    }
    for (size_t c = 0; c < state->v_dim; c++) {
        float acc = 0.0f;
        for (size_t i = 0; i < seen; i++) {
            acc = fmaf(p[i], scalar_v(chunk, keys, key[i], c), acc);
        }
        float *const o = scalar_attention_o(state, r, c);
        *o = chunk->fresh ? acc : fmaf(*o, alpha, acc);
    }
    state->l[r] = fmaf(state->l[r], alpha, lc);
    state->m[r] = m;
}

#endif
