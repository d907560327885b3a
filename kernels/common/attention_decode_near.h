// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_near.h - one row from L2: P V of a chunk and Q K^T of the next one in one loop.
//
// Each element of O is one chain of FMAs. One row over V of 64 columns has four vectors of them, so it waits for its
// own sums half of the time. The scores of the next chunk do not depend on it, and where K is in rows they are limited
// by shuffles. Emerald Rapids, beside a busy hyper-thread, against one after the other: K in rows, 512 and 1024 keys,
// heads of 32 and 64 1.08 to 1.18 times as fast, of 128 1.06 to 1.09, 256 keys 1.05 to 1.08; K in panels 1.03 to 1.12.
//
// Part of attention_decode_beside.h, on ISAs with FV_REGISTER_ROWS.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_NEAR_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_NEAR_H

#include "kernels/common/attention_decode_few.h"
#include "kernels/fault.h"

enum {
    NEAR_PANELS = FOVEA_CHUNK / FOVEA_PANEL,
    NEAR_DIMS = 8, ///< of rows of K that are transposed at a time
    NEAR_VECS = 8, ///< the most vectors of V's columns
};

/// The product with V, as far as it is.
struct near_values {
    const float *p, *v;
    ptrdiff_t v_row;
    fv_f32 acc[NEAR_VECS], sum;
};

/// acc += p[j] v[j] and sum += p[j] for the next keys j.
static inline __attribute__((always_inline)) void near_keys(struct near_values *of, size_t keys, int V)
{
    for (; keys != 0; keys--, of->p++, of->v += of->v_row) {
        const fv_f32 p = fv_set1(*of->p);
        of->sum = fv_add(of->sum, p);
        FV_UNROLL
        for (int i = 0; i < V; i++) {
            of->acc[i] = fv_fma(p, fv_load(of->v + i * FV_LANES), of->acc[i]);
        }
    }
}

/// Scores of natural rows, T groups of 16 keys side by side, each with `each` keys of V for eight dims.
static inline __attribute__((always_inline)) void near_rows(const struct fovea_decode_chunk *decode, size_t dims,
                                                            size_t each, float *s_next, struct near_values *of, int V,
                                                            int T)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const float *k = decode->k_next;
    for (int j = 0; j < FOVEA_CHUNK; j += T * FOVEA_PANEL, k += T * FOVEA_PANEL * chunk->k_row) {
        fv_f32 s[2];
        FV_UNROLL
        for (int t = 0; t < T; t++) {
            s[t] = fv_zero();
        }
        for (size_t c = 0; c < dims; c += NEAR_DIMS) {
            FV_UNROLL
            for (int t = 0; t < T; t++) {
                const float *rows = k + t * FOVEA_PANEL * chunk->k_row + c;
                __asm__("" : "+r"(rows)); // or gcc keeps a pointer for each key, on the stack
                fv_register_eight(rows, chunk->k_row, chunk->q + c, 0, 1, s + t, 1);
                near_keys(of, each, V);
            }
        }
        FV_UNROLL
        for (int t = 0; t < T; t++) {
            fv_store(s_next + j + t * FOVEA_PANEL, s[t]);
        }
    }
}

/// Scores of panels, all keys side by side, with `each` keys of V for each dim.
static inline __attribute__((always_inline)) void near_panels(const struct fovea_decode_chunk *decode, size_t dims,
                                                              size_t each, float *s_next, struct near_values *of, int V)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const ptrdiff_t panel = (ptrdiff_t)(FOVEA_PANEL * chunk->qk_dim);
    const float *k[3] = {decode->k_next, decode->k_next + 3 * panel, decode->k_next + 6 * panel};
    fv_f32 s[NEAR_PANELS];
    FV_UNROLL
    for (int i = 0; i < NEAR_PANELS; i++) {
        s[i] = fv_zero();
    }
    for (size_t c = 0; c < dims; c++) {
        const fv_f32 q = fv_set1(chunk->q[c]);
        FV_UNROLL
        for (int i = 0; i < NEAR_PANELS; i++) {
            s[i] = fv_fma(q, fv_load(decode_few_at(k, i, panel)), s[i]);
        }
        FV_UNROLL
        for (int i = 0; i < 3; i++) {
            k[i] += FOVEA_PANEL;
        }
        near_keys(of, each, V);
    }
    FV_UNROLL
    for (int i = 0; i < NEAR_PANELS; i++) {
        fv_store(s_next + i * FOVEA_PANEL, s[i]);
    }
}

/// V vectors of columns. ROWS: K is in natural rows. With eight vectors of V there is no need of two groups of keys to
/// hide a chain (0.95 of one).
static inline __attribute__((always_inline)) void near_tile(const struct fovea_decode_chunk *decode, const float *p,
                                                            float *acc, float *sums, float *s_next, int V, int ROWS)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t each = FOVEA_CHUNK / chunk->qk_dim;
    const size_t dims = chunk->qk_dim - (FOVEA_FAULT_IS(DECODE_BESIDE_SHORT) ? NEAR_DIMS : 0);
    struct near_values of = {.p = p, .v = chunk->v, .v_row = chunk->v_row, .sum = fv_zero()};
    FV_UNROLL
    for (int i = 0; i < V; i++) {
        of.acc[i] = fv_zero();
    }
    if (ROWS) {
        near_rows(decode, dims, each, s_next, &of, V, V == NEAR_VECS ? 1 : 2);
    } else {
        near_panels(decode, dims, each, s_next, &of, V);
    }
    FV_UNROLL
    for (int i = 0; i < V; i++) {
        fv_store(acc + i * FV_LANES, of.acc[i]);
    }
    if (sums) {
        decode_set_sums(sums, &of.sum, 1);
    }
}

typedef void near_fn(const struct fovea_decode_chunk *decode, const float *p, float *acc, float *sums, float *s_next);

#define NEAR_TILE(V, ROWS)                                                                                             \
    static void near_##V##_##ROWS(const struct fovea_decode_chunk *decode, const float *p, float *acc, float *sums,    \
                                  float *s_next)                                                                       \
    {                                                                                                                  \
        near_tile(decode, p, acc, sums, s_next, V, ROWS);                                                              \
    }
NEAR_TILE(2, 0)
NEAR_TILE(4, 0)
NEAR_TILE(8, 0)
NEAR_TILE(2, 1)
NEAR_TILE(4, 1)
NEAR_TILE(8, 1)

/// Whether the next chunk's scores are computed along with this chunk's product: one row, which sees all keys of both,
/// and heads of 32, 64 or 128.
static inline int decode_may_beside(const struct fovea_decode_chunk *decode)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t dims = chunk->qk_dim, v_dim = chunk->state.v_dim;
    return !decode->hints.far && decode->k_next && !decode->blocks && chunk->state.rows == 1 && !chunk->visible &&
           !chunk->bias && dims >= NEAR_DIMS && FOVEA_CHUNK % dims == 0 &&
           (v_dim == 2 * FV_LANES || v_dim == 4 * FV_LANES || v_dim == NEAR_VECS * FV_LANES);
}

/// acc = P V of a chunk, sums (if not NULL) = the sum of P, s_next = Q K^T of the next chunk.
static void decode_beside(const struct fovea_decode_chunk *decode, const float *p, float *acc, float *sums,
                          float *s_next)
{
    static near_fn *const tiles[2][3] = {{near_2_0, near_4_0, near_8_0}, {near_2_1, near_4_1, near_8_1}};
    tiles[decode->chunk.k_row != 0][decode->chunk.state.v_dim / (4 * FV_LANES)](decode, p, acc, sums, s_next);
}

#endif
