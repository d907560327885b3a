// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_near_tile.h - a tile that interleaves keys of V with dims of the next chunk's K.
//
// Part of attention_decode_near.h.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_NEAR_TILE_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_NEAR_TILE_H

#include "kernels/common/attention_decode_fetch.h"
#include "kernels/common/attention_decode_few.h"
#include "kernels/fault.h"

enum {
    NEAR_ROWS = DECODE_HALVES ? DECODE_BESIDE : 1, ///< the most rows of these tiles
    NEAR_DIMS = 8,                                 ///< of rows of K that are transposed at a time
    NEAR_SUMS = 16,                                ///< the most sums of O
    NEAR_SCORES = 8,                               ///< the most vectors of scores side by side
};

/// The product with V, as far as it is.
struct near_values {
    const float *p, *v;
    ptrdiff_t v_row;
    fv_f32 acc[NEAR_SUMS], sum[NEAR_ROWS];
};

/// What the scores are computed from; a copy, as a score that is stored could otherwise change it.
struct near_scores {
    const float *q;
    ptrdiff_t q_row, k_row;
    size_t qk_dim, dims; ///< and as many of these as are computed
    size_t each;         ///< keys of V for eight dims of a group of keys
};

/// acc[r] += p[r][j] v[j] and sum[r] += p[r][j] for the next keys j.
static inline __attribute__((always_inline)) void near_keys(struct near_values *of, size_t keys, int R, int V)
{
    for (; keys != 0; keys--, of->p++, of->v += of->v_row) {
        fv_f32 p[NEAR_ROWS];
        FV_UNROLL
        for (int r = 0; r < R; r++) {
            p[r] = fv_set1(of->p[r * FOVEA_CHUNK]);
            of->sum[r] = fv_add(of->sum[r], p[r]);
        }
        FV_UNROLL
        for (int i = 0; i < V; i++) {
            const fv_f32 v = decode_once(fv_load(of->v + i * FV_LANES), R);
            FV_UNROLL
            for (int r = 0; r < R; r++) {
                of->acc[r * V + i] = fv_fma(p[r], v, of->acc[r * V + i]);
            }
        }
    }
}

/// Scores of T groups of 16 natural rows from k on.
static inline __attribute__((always_inline)) void
near_k_rows(const struct near_scores *by, const float *k, float *s_next, struct near_values *of, int R, int V, int T)
{
    fv_f32 s[NEAR_SCORES];
    FV_UNROLL
    for (int t = 0; t < R * T; t++) {
        s[t] = fv_zero();
    }
    for (size_t c = 0; c < by->dims; c += NEAR_DIMS) {
        FV_UNROLL
        for (int t = 0; t < T; t++) {
            const float *rows = k + t * FOVEA_PANEL * by->k_row + c;
            if (DECODE_HALVES) { // T is 1
                enum { EVERY = 2, FURTHER = 2 * FOVEA_PANEL };
                decode_fetch_next(k + FOVEA_PANEL * by->k_row, by->k_row, by->qk_dim, c, NEAR_DIMS, EVERY, FURTHER);
            }
            __asm__("" : "+r"(rows)); // or gcc keeps a pointer for each key, on the stack
            fv_register_eight(rows, by->k_row, by->q + c, by->q_row, 1, s + t * R, R);
            near_keys(of, by->each, R, V);
        }
    }
    FV_UNROLL
    for (int t = 0; t < R * T; t++) {
        fv_store(s_next + t % R * FOVEA_CHUNK + t / R * FOVEA_PANEL, s[t]);
    }
}

/// What is `offset` elements after *at. On cores that halve 512 bits loads stay in the order of memory: gcc reads a
/// line too early (Zen 4, two rows over panels from memory 0.91).
static inline __attribute__((always_inline)) fv_f32 near_load(const float **at, ptrdiff_t offset)
{
    fv_f32 x = fv_load(*at + offset);
#if DECODE_HALVES
    __asm__("" : "+v"(x), "+r"(*at));
#endif
    return x;
}

/// Scores of T panels from k on, side by side.
static inline __attribute__((always_inline)) void
near_k_panels(const struct near_scores *by, const float *k, float *s_next, struct near_values *of, int R, int V, int T)
{
    const ptrdiff_t panel = (ptrdiff_t)(FOVEA_PANEL * by->qk_dim);
    const float *at[3] = {k, k + 3 * panel, k + 6 * panel}, *q = by->q;
    fv_f32 s[NEAR_SCORES];
    FV_UNROLL
    for (int i = 0; i < R * T; i++) {
        s[i] = fv_zero();
    }
    for (size_t c = 0; c < by->dims; c += NEAR_DIMS / T) {
        FV_UNROLL
        for (int d = 0; d < NEAR_DIMS / T; d++, q++) {
            FV_UNROLL
            for (int t = 0; t < T; t++) {
                const fv_f32 keys = near_load(&at[t / 3], t % 3 * panel);
                FV_UNROLL
                for (int r = 0; r < R; r++) {
                    s[t * R + r] = fv_fma(fv_set1(q[r * by->q_row]), keys, s[t * R + r]);
                }
            }
            FV_UNROLL
            for (int i = 0; i < 3; i++) {
                at[i] += FOVEA_PANEL;
            }
        }
        near_keys(of, by->each, R, V);
    }
    FV_UNROLL
    for (int t = 0; t < R * T; t++) {
        fv_store(s_next + t % R * FOVEA_CHUNK + t / R * FOVEA_PANEL, s[t]);
    }
}

/// R rows and V vectors of columns. ROWS: K is in natural rows. T groups of 16 keys side by side.
static inline __attribute__((always_inline)) void near_tile(const struct fovea_decode_chunk *decode, const float *p,
                                                            float *acc, float *sums, float *s_next, int R, int V,
                                                            int ROWS, int T)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const struct near_scores by = {
        .q = chunk->q,
        .q_row = FOVEA_FAULT_IS(DECODE_BESIDE_FIRST) ? 0 : decode->q_row,
        .k_row = ROWS ? chunk->k_row : (ptrdiff_t)chunk->qk_dim,
        .qk_dim = chunk->qk_dim,
        .dims = chunk->qk_dim - (FOVEA_FAULT_IS(DECODE_BESIDE_SHORT) ? NEAR_DIMS : 0),
        .each = FOVEA_CHUNK / chunk->qk_dim,
    };
    const float *k = decode->k_next;
    struct near_values of = {.p = p, .v = chunk->v, .v_row = chunk->v_row};
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        of.sum[r] = fv_zero();
    }
    FV_UNROLL
    for (int i = 0; i < R * V; i++) {
        of.acc[i] = fv_zero();
    }
    for (int j = 0; j < FOVEA_CHUNK; j += T * FOVEA_PANEL, k += T * FOVEA_PANEL * by.k_row) {
        if (ROWS) {
            near_k_rows(&by, k, s_next + j, &of, R, V, T);
        } else {
            near_k_panels(&by, k, s_next + j, &of, R, V, T);
        }
    }
    FV_UNROLL
    for (int i = 0; i < R * V; i++) {
        fv_store(acc + i * FV_LANES, of.acc[i]);
    }
    if (sums) {
        decode_set_sums(sums, of.sum, R);
    }
}

#endif
