// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention.h - one chunk of keys against one query row, the definition (docs/numerics.md section 3).
//
// Prefill and decode differ only in the layout of q and the strides of O, so both kernels are this code. Decode may
// also return scores, and finds K and V in blocks.
#ifndef FOVEA_KERNELS_SCALAR_ATTENTION_H
#define FOVEA_KERNELS_SCALAR_ATTENTION_H

#include "kernels/kernel.h"
#include "kernels/scalar/exp2.h"
#include "kernels/scalar/sleef.h"

#include <math.h>

/// A vector of qk_dim elements in memory: element c is first[c * step].
struct scalar_vector {
    const float *first;
    ptrdiff_t step;
};

/// Vector `index` of a matrix in panels of 16 vectors: element c is at [(index / 16) * 16 * dim + c * 16 + index % 16].
static inline struct scalar_vector scalar_panel_vector(const float *matrix, size_t dim, size_t index)
{
    const size_t offset = index / FOVEA_PANEL * FOVEA_PANEL * dim + index % FOVEA_PANEL;
    return (struct scalar_vector){matrix + offset, FOVEA_PANEL};
}

/// Vector `index` of a matrix in rows.
static inline struct scalar_vector scalar_row_vector(const float *matrix, ptrdiff_t row, size_t index)
{
    return (struct scalar_vector){matrix + (ptrdiff_t)index * row, 1};
}

/// The matrix of K or V that contains key j, and its index there: the whole chunk, or a block of it.
static inline const float *scalar_matrix(const float *whole, const float *const *blocks, size_t *j)
{
    const float *const matrix = blocks ? blocks[*j / FOVEA_PANEL] : whole;
    *j = blocks ? *j % FOVEA_PANEL : *j;
    return matrix;
}

/// Scores of the keys that row r sees, in ascending order; key[i] is the key of score s[i]. Returns their number.
/// A key that the mask hides is not loaded. blocks: NULL, or where K is.
static inline size_t scalar_attention_scores(const struct fovea_attention_chunk *chunk,
                                             const struct fovea_attention_blocks *blocks, size_t r,
                                             struct scalar_vector q, float *s, size_t *key)
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
        size_t index = j;
        const float *const keys = scalar_matrix(chunk->k, blocks ? blocks->k : NULL, &index);
        const struct scalar_vector k = chunk->k_row ? scalar_row_vector(keys, chunk->k_row, index)
                                                    : scalar_panel_vector(keys, chunk->qk_dim, index);
        float score = 0.0f;
        for (size_t c = 0; c < chunk->qk_dim; c++) {
            const float a = q.first[(ptrdiff_t)c * q.step], b = k.first[(ptrdiff_t)c * k.step];
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

/// Updates the state of row r by the chunk. A row that sees no key keeps its state. blocks: NULL, or where K and V are.
static inline void scalar_attention_row(const struct fovea_attention_chunk *chunk,
                                        const struct fovea_attention_blocks *blocks, size_t r, struct scalar_vector q)
{
    const struct fovea_attention_state *const state = &chunk->state;
    float p[FOVEA_CHUNK]; // scores, then probabilities
    size_t key[FOVEA_CHUNK];
    const size_t seen = scalar_attention_scores(chunk, blocks, r, q, p, key);
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
            size_t index = key[i];
            const float *const values = scalar_matrix(chunk->v, blocks ? blocks->v : NULL, &index);
            acc = fmaf(p[i], values[(ptrdiff_t)index * chunk->v_row + (ptrdiff_t)c], acc);
        }
        float *const o = scalar_attention_o(state, r, c);
        *o = chunk->fresh ? acc : fmaf(*o, alpha, acc);
    }
    state->l[r] = fmaf(state->l[r], alpha, lc);
    state->m[r] = m;
}

#endif
