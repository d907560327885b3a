// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_beside_tile.h - a tile that interleaves a few keys of V with some dims of K, in
// registers.
//
// Part of attention_decode_beside.h, where the ISA's transpose.h has fv_transpose_four.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_BESIDE_TILE_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_BESIDE_TILE_H

#include "kernels/common/attention_decode_few.h"

enum {
    BESIDE_VECS = 16, ///< Sums of V in a tile. With 16 registers some stay in memory, which is faster than two passes
                      ///< over rows of 128: 88 % of the stream against 75.
    BESIDE_COLUMNS = 32, ///< V's columns are a multiple of this
};

/// Some keys of V, and some dims of 16 keys of K in panels, or of FV_LANES keys in natural rows.
struct beside_tile {
    size_t keys;        ///< keys of V, a multiple of 4
    const float *p, *v; ///< acc[r * acc_row + c] += p[r * FOVEA_CHUNK + j] v[j * v_row + c]
    ptrdiff_t v_row;
    float *acc;
    ptrdiff_t acc_row;
    float *sums;        ///< NULL, or sums[r] += p[r * FOVEA_CHUNK + j]
    size_t dims;        ///< dims of K
    const float *q, *k; ///< s[r * FOVEA_CHUNK + j] += q[r * q_row + c] k[c * 16 + j], or k[j * k_row + c]
    ptrdiff_t q_row, k_row;
    float *s;
    const float *ahead; ///< natural rows: what to prefetch, as much as is read
};

/// Dims [c, end) of K: sums of R rows and 16 keys of a panel.
static inline __attribute__((always_inline)) void beside_panel(const struct beside_tile *t, size_t c, size_t end, int R,
                                                               fv_f32 *s)
{
    const float *q = t->q + c, *k = t->k + c * FOVEA_PANEL;
    for (; c < end; c++, q++, k += FOVEA_PANEL) {
        FV_UNROLL
        for (int i = 0; i < FV_VECS; i++) {
            const fv_f32 x = fv_load(k + i * FV_LANES);
            FV_UNROLL
            for (int r = 0; r < R; r++) {
                s[r * FV_VECS + i] = fv_fma(fv_set1(q[r * t->q_row]), x, s[r * FV_VECS + i]);
            }
        }
    }
}

/// The same for natural rows, G x FV_LANES of them, four dims at a time; prefetches as many lines as are read.
static inline __attribute__((always_inline)) void beside_rows(const struct beside_tile *t, size_t c, size_t end, int R,
                                                              int G, fv_f32 *s)
{
    enum { DIMS = 4 };
    const float *q = t->q + c, *k = t->k + c, *ahead = t->ahead ? t->ahead + c * (size_t)G * FV_LANES : NULL;
    for (; c < end; c += DIMS, q += DIMS, k += DIMS) {
        FV_UNROLL
        for (int g = 0; g < G; g++) {
            fv_f32 x[DIMS];
            fv_transpose_four(k + g * FV_LANES * t->k_row, t->k_row, x);
            FV_UNROLL
            for (int d = 0; d < DIMS; d++) {
                FV_UNROLL
                for (int r = 0; r < R; r++) {
                    s[r * G + g] = fv_fma(fv_set1(q[r * t->q_row + d]), x[d], s[r * G + g]);
                }
            }
        }
        for (int i = 0; ahead && i < G * DIMS * FV_LANES; i += FOVEA_LINE, ahead += FOVEA_LINE) {
            __builtin_prefetch(ahead);
        }
    }
}

/// R rows, V vectors of V's columns. ROWS: K is in natural rows. SUMS: also computes the sums of P.
static inline __attribute__((always_inline)) void beside_tile(const struct beside_tile *t, int R, int V, int ROWS,
                                                              int SUMS)
{
    enum { PARTS = 4 };
    const int S = ROWS ? 1 : FV_VECS; // vectors of keys per row
    const float *p = t->p, *v = t->v;
    fv_f32 acc[BESIDE_VECS], s[DECODE_FEW * FV_VECS], sum[DECODE_FEW];
    FV_UNROLL
    for (int i = 0; i < R * V; i++) {
        acc[i] = fv_load(t->acc + i / V * t->acc_row + i % V * FV_LANES);
    }
    FV_UNROLL
    for (int i = 0; i < R * S; i++) {
        s[i] = fv_load(t->s + i / S * FOVEA_CHUNK + i % S * FV_LANES);
    }
    for (int r = 0; SUMS && r < R; r++) {
        sum[r] = fv_set1(t->sums[r]);
    }
    for (size_t part = 0, j = 0, c = 0; part < PARTS; part++) {
        for (; j < t->keys * (part + 1) / PARTS; j++, p++, v += t->v_row) {
            fv_f32 of_row[DECODE_FEW];
            FV_UNROLL
            for (int r = 0; r < R; r++) {
                of_row[r] = fv_set1(p[r * FOVEA_CHUNK]);
                sum[r] = SUMS ? fv_add(sum[r], of_row[r]) : fv_zero();
            }
            FV_UNROLL
            for (int i = 0; i < V; i++) {
                const fv_f32 x = fv_load(v + i * FV_LANES);
                FV_UNROLL
                for (int r = 0; r < R; r++) {
                    acc[r * V + i] = fv_fma(of_row[r], x, acc[r * V + i]);
                }
            }
        }
        const size_t end = part + 1 == PARTS ? t->dims : t->dims * (part + 1) / PARTS / 4 * 4;
        if (ROWS) {
            beside_rows(t, c, end, R, 1, s);
        } else {
            beside_panel(t, c, end, R, s);
        }
        c = end;
    }
    FV_UNROLL
    for (int i = 0; i < R * V; i++) {
        fv_store(t->acc + i / V * t->acc_row + i % V * FV_LANES, acc[i]);
    }
    FV_UNROLL
    for (int i = 0; i < R * S; i++) {
        fv_store(t->s + i / S * FOVEA_CHUNK + i % S * FV_LANES, s[i]);
    }
    if (SUMS) {
        decode_set_sums(t->sums, sum, R);
    }
}

typedef void beside_fn(const struct beside_tile *tile);

#define BESIDE_TILE(R, V, ROWS)                                                                                        \
    static void beside_##R##x##V##_##ROWS(const struct beside_tile *tile)                                              \
    {                                                                                                                  \
        if (tile->sums) {                                                                                              \
            beside_tile(tile, R, V, ROWS, 1);                                                                          \
        } else {                                                                                                       \
            beside_tile(tile, R, V, ROWS, 0);                                                                          \
        }                                                                                                              \
    }
BESIDE_TILE(1, 4, 0)
BESIDE_TILE(1, 8, 0)
BESIDE_TILE(1, 16, 0)
BESIDE_TILE(2, 4, 0)
BESIDE_TILE(2, 8, 0)
BESIDE_TILE(1, 4, 1)
BESIDE_TILE(1, 8, 1)
BESIDE_TILE(1, 16, 1)
BESIDE_TILE(2, 4, 1)
BESIDE_TILE(2, 8, 1)

#endif
