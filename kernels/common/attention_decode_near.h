// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_near.h - few rows from L2: P V of a chunk and Q K^T of the next one in one loop.
//
// Each element of O is one chain of FMAs. One row over V of 64 columns has four vectors of them, so it waits for its
// own sums half of the time. The scores of the next chunk do not depend on it, and where K is in rows they are limited
// by shuffles. Emerald Rapids, beside a busy hyper-thread, against one after the other: K in rows, 512 and 1024 keys,
// heads of 32 and 64 1.08 to 1.18 times as fast, of 128 1.06 to 1.09, 256 keys 1.05 to 1.08; K in panels 1.03 to 1.12.
//
// Cores that compute 512 bits in two halves have too few FMAs in flight to need several groups of keys side by side.
// One by one, K is read in the order of memory, which their prefetcher follows, so that a cache that is not in L2 after
// all costs less. Zen 4, 512 keys of 64, in L2 and from memory: one row over panels 1.04 and 1.12 times as fast as
// eight panels side by side, two 1.06 and 1.17; against one after the other three rows 1.10 and 1.09, four 1.08 and
// 1.16, K in rows one row 1.02 and 1.6, two 1.27 and 1.9. K in rows is prefetched into L1, 16 keys ahead: beside the
// shuffles that costs nothing.
//
// Part of attention_decode_beside.h, on ISAs with FV_REGISTER_ROWS.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_NEAR_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_NEAR_H

#include "kernels/common/attention_decode_fetch.h"
#include "kernels/common/attention_decode_few.h"
#include "kernels/fault.h"

enum {
    NEAR_ROWS = DECODE_PAIRS ? 1 : DECODE_BESIDE, ///< the most rows; near_rows of kernels/attention.def
    NEAR_DIMS = 8,                                ///< of rows of K that are transposed at a time
    NEAR_SUMS = 16,                               ///< the most sums of O
    NEAR_SCORES = 8,                              ///< the most vectors of scores side by side
};

// Keeps loads in the order of memory, and x in a register; gcc reads a line too early, or once for each row. Zen 4, two
// rows over panels from memory 1.1 times as fast.
#if DECODE_PAIRS
#define NEAR_ORDER(x, at)
#else
#define NEAR_ORDER(x, at) __asm__("" : "+v"(x), "+r"(at))
#endif

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
            fv_f32 v = fv_load(of->v + i * FV_LANES);
            DECODE_ONCE(v, R);
            FV_UNROLL
            for (int r = 0; r < R; r++) {
                of->acc[r * V + i] = fv_fma(p[r], v, of->acc[r * V + i]);
            }
        }
    }
}

/// Scores of T groups of 16 natural rows from k on.
static inline __attribute__((always_inline)) void near_rows(const struct near_scores *by, const float *k, float *s_next,
                                                            struct near_values *of, int R, int V, int T)
{
    const float *const next = k + T * FOVEA_PANEL * by->k_row;
    fv_f32 s[NEAR_SCORES];
    FV_UNROLL
    for (int t = 0; t < R * T; t++) {
        s[t] = fv_zero();
    }
    for (size_t c = 0; c < by->dims; c += NEAR_DIMS) {
        FV_UNROLL
        for (int t = 0; t < T; t++) {
            const float *rows = k + t * FOVEA_PANEL * by->k_row + c;
            decode_fetch_next(next + t * FOVEA_PANEL * by->k_row, by->k_row, by->qk_dim, c, NEAR_DIMS);
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

/// Scores of T panels from k on, side by side.
static inline __attribute__((always_inline)) void
near_panels(const struct near_scores *by, const float *k, float *s_next, struct near_values *of, int R, int V, int T)
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
                fv_f32 keys = fv_load(decode_few_at(at, t, panel));
                NEAR_ORDER(keys, at[t / 3]);
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
        .q_row = decode->q_row,
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
            near_rows(&by, k, s_next + j, &of, R, V, T);
        } else {
            near_panels(&by, k, s_next + j, &of, R, V, T);
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

typedef void near_fn(const struct fovea_decode_chunk *decode, const float *p, float *acc, float *sums, float *s_next);

#define NEAR_TILE(R, V, ROWS, T)                                                                                       \
    static void near_##R##x##V##_##ROWS(const struct fovea_decode_chunk *decode, const float *p, float *acc,           \
                                        float *sums, float *s_next)                                                    \
    {                                                                                                                  \
        near_tile(decode, p, acc, sums, s_next, R, V, ROWS, T);                                                        \
    }
// Indexed by whether K is in rows, rows - 1, and vectors of columns / 4. More rows over K in rows would spill.
#if DECODE_PAIRS
NEAR_TILE(1, 2, 0, 8)
NEAR_TILE(1, 4, 0, 8)
NEAR_TILE(1, 8, 0, 8)
NEAR_TILE(1, 2, 1, 2)
NEAR_TILE(1, 4, 1, 2)
NEAR_TILE(1, 8, 1, 1) // two groups of keys 0.95
static near_fn *const near_tiles[2][NEAR_ROWS][3] = {
    {{near_1x2_0, near_1x4_0, near_1x8_0}},
    {{near_1x2_1, near_1x4_1, near_1x8_1}},
};
#else
NEAR_TILE(1, 2, 0, 1)
NEAR_TILE(1, 4, 0, 1)
NEAR_TILE(1, 8, 0, 1)
NEAR_TILE(2, 2, 0, 1)
NEAR_TILE(2, 4, 0, 1)
NEAR_TILE(2, 8, 0, 1)
NEAR_TILE(3, 2, 0, 1)
NEAR_TILE(3, 4, 0, 1)
NEAR_TILE(4, 2, 0, 1)
NEAR_TILE(4, 4, 0, 1)
NEAR_TILE(1, 2, 1, 1)
NEAR_TILE(1, 4, 1, 1)
NEAR_TILE(1, 8, 1, 1)
NEAR_TILE(2, 2, 1, 1)
NEAR_TILE(2, 4, 1, 1)
static near_fn *const near_tiles[2][NEAR_ROWS][3] = {
    {{near_1x2_0, near_1x4_0, near_1x8_0},
     {near_2x2_0, near_2x4_0, near_2x8_0},
     {near_3x2_0, near_3x4_0},
     {near_4x2_0, near_4x4_0}},
    {{near_1x2_1, near_1x4_1, near_1x8_1}, {near_2x2_1, near_2x4_1}},
};
#endif

/// The tile that computes the next chunk's scores along with this chunk's product, or NULL: for few rows, which see all
/// keys of both, and heads of 32, 64 or 128.
static inline near_fn *near_of(const struct fovea_decode_chunk *decode)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t rows = chunk->state.rows, dims = chunk->qk_dim, v_dim = chunk->state.v_dim;
    const int may = !decode->hints.far && decode->k_next && !decode->blocks && rows <= NEAR_ROWS && !chunk->visible &&
                    !chunk->bias && dims >= NEAR_DIMS && FOVEA_CHUNK % dims == 0;
    const int fits = v_dim == 2 * FV_LANES || v_dim == 4 * FV_LANES || v_dim == 8 * FV_LANES;
    return may && fits ? near_tiles[chunk->k_row != 0][rows - 1][v_dim / (4 * FV_LANES)] : NULL;
}

static inline int decode_may_beside(const struct fovea_decode_chunk *decode)
{
    return near_of(decode) != NULL;
}

/// acc = P V of a chunk, sums (if not NULL) = the sum of P, s_next = Q K^T of the next chunk.
static void decode_beside(const struct fovea_decode_chunk *decode, const float *p, float *acc, float *sums,
                          float *s_next)
{
    near_of(decode)(decode, p, acc, sums, s_next);
}

#endif
