// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_few.h - products of one or two rows, up to eight vectors wide.
//
// A row of a tile of the GEMM micro-kernel has 2 to 4 sums, and each waits four cycles for the step before. Eight or
// sixteen keep the ports busy; on AVX-512 a chunk of keys is one tile.
// Part of attention_decode_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_FEW_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_FEW_H

#include "kernels/common/attention.h"
#include "kernels/common/unroll.h"

enum {
    DECODE_FEW = 2,      ///< rows
    DECODE_FEW_VECS = 8, ///< of one row; two have as many where there are registers for 16 sums
    DECODE_PAGE = 1024   ///< elements
};
#define DECODE_TWO_VECS (FV_LANES == 8 ? 4 : 8) // AVX2 has 16 registers

/// Where B's vector v lies: 16 columns are a panel. Stepped pointers to every third panel serve all of them, as
/// base + {0, 1, 2} * stride.
static inline const float *decode_few_at(const float *const *b, int v, ptrdiff_t panel)
{
    const int at = v * FV_LANES / FOVEA_PANEL;
    return b[at / 3] + at % 3 * panel + v * FV_LANES % FOVEA_PANEL;
}

/// C[R rows, V vectors] = or += A B, of which n columns are written, each element the chain of ascending steps, and,
/// where sums is not NULL, sums[R] += the rows of A, a chain each, which costs nothing beside the others. AHEAD: a step
/// prefetches as many bytes as it reads of B, and a line of each page of as many from `pages` on.
static inline __attribute__((always_inline)) void decode_few_tile(const struct fovea_gemm_tile *t, const float *pages,
                                                                  float *sums, int R, int V, int AHEAD)
{
    enum { LINE = 16 };
    const size_t steps = DECODE_PAGE / (V * FV_LANES); // of a page
    const float *a = t->a, *ahead = t->ahead, *b[3] = {t->b, t->b + 3 * t->b_panel, t->b + 6 * t->b_panel};
    fv_f32 acc[DECODE_FEW * DECODE_FEW_VECS], sum[DECODE_FEW] = {fv_zero(), fv_zero()};
    for (int r = 0; sums && r < R; r++) {
        sum[r] = fv_set1(sums[r]);
    }
    FV_UNROLL
    for (int i = 0; i < R * V; i++) {
        acc[i] = t->mode == FOVEA_GEMM_ADD && !FOVEA_FAULT_IS(DECODE_FEW_ADDS_NOTHING)
                     ? fv_load(t->c + i / V * t->c_row + i % V * FV_LANES)
                     : fv_zero();
    }
    for (size_t p = t->k; p != 0; p--) {
        fv_f32 of_row[DECODE_FEW];
        FV_UNROLL
        for (int r = 0; r < R; r++) {
            of_row[r] = fv_set1(a[r * t->a_row]);
            sum[r] = fv_add(sum[r], of_row[r]);
        }
        FV_UNROLL
        for (int v = 0; v < V; v++) {
            const fv_f32 x = fv_load(decode_few_at(b, v, t->b_panel));
            FV_UNROLL
            for (int r = 0; r < R; r++) {
                acc[r * V + v] = fv_fma(of_row[r], x, acc[r * V + v]);
            }
        }
        if (AHEAD) {
            for (int at = 0; at < V * FV_LANES; at += LINE) {
                __builtin_prefetch(ahead + at, 0, 2);
            }
            ahead += V * FV_LANES;
            if (p % steps == 0) {
                __builtin_prefetch(pages, 0, 2);
                pages += DECODE_PAGE;
            }
        }
        a += t->a_k;
        FV_UNROLL
        for (int i = 0; i < 3; i++) {
            b[i] += t->b_k;
        }
    }
    FV_UNROLL
    for (int i = 0; i < R * V; i++) {
        float *const c = t->c + i / V * t->c_row + i % V * FV_LANES;
        const size_t before = (size_t)(i % V) * FV_LANES;
        if (t->n >= before + FV_LANES || FOVEA_FAULT_IS(DECODE_FEW_STORES_PAST_N)) {
            fv_store(c, acc[i]);
        } else if (t->n > before) {
            fv_store_tail(c, acc[i], t->n - before);
        }
    }
    for (int r = 0; sums && r < R; r++) {
        fv_store_tail(sums + r, sum[r], 1);
    }
}

#define DECODE_FEW_TILE(R, V)                                                                                          \
    static void decode_few_##R##x##V(const struct fovea_gemm_tile *tile, const float *pages, float *sums)              \
    {                                                                                                                  \
        if (tile->ahead) {                                                                                             \
            decode_few_tile(tile, pages, sums, R, V, 1);                                                               \
        } else {                                                                                                       \
            decode_few_tile(tile, pages, sums, R, V, 0);                                                               \
        }                                                                                                              \
    }
DECODE_FEW_TILE(1, 8)
DECODE_FEW_TILE(1, 4)
DECODE_FEW_TILE(2, 4)
#if FV_LANES != 8
DECODE_FEW_TILE(2, 8)
#endif
#if FV_LANES >= 8
DECODE_FEW_TILE(1, 2)
DECODE_FEW_TILE(2, 2)
#endif
#if FV_LANES == 16
DECODE_FEW_TILE(1, 1)
DECODE_FEW_TILE(2, 1)
#endif

/// One or two rows. B's panels are readable in full, and C in whole vectors where it is added to. tile is changed.
/// pages: not NULL where tile->ahead is not.
static inline void decode_few(struct fovea_gemm_tile *tile, const float *pages, float *sums, size_t rows)
{
    typedef void tile_fn(const struct fovea_gemm_tile *, const float *, float *);
    static tile_fn *const tiles[DECODE_FEW][4] = { // by the logarithm of their vectors
#if FV_LANES == 16
        {decode_few_1x1, decode_few_1x2, decode_few_1x4, decode_few_1x8},
        {decode_few_2x1, decode_few_2x2, decode_few_2x4, decode_few_2x8},
#elif FV_LANES == 8
        {NULL, decode_few_1x2, decode_few_1x4, decode_few_1x8},
        {NULL, decode_few_2x2, decode_few_2x4, NULL},
#else
        {NULL, NULL, decode_few_1x4, decode_few_1x8},
        {NULL, NULL, decode_few_2x4, decode_few_2x8},
#endif
    };
    const size_t most = rows == 1 ? DECODE_FEW_VECS : DECODE_TWO_VECS;
    const size_t panel_vecs = FOVEA_PANEL / FV_LANES;
    for (size_t vecs; tile->n != 0; tile->n -= attention_min(tile->n, vecs * FV_LANES)) {
        size_t log = 3;
        while ((vecs = (size_t)1 << log) > attention_min(attention_round(tile->n) / FV_LANES, most)) {
            log--;
        }
        tiles[rows - 1][log](tile, pages, sums);
        sums = FOVEA_FAULT_IS(DECODE_FEW_SUMS_TWICE) ? sums : NULL; // once is enough
        tile->b += (ptrdiff_t)(vecs / panel_vecs) * tile->b_panel;
        tile->c += vecs * FV_LANES;
        tile->ahead = tile->ahead ? tile->ahead + tile->k * vecs * FV_LANES : NULL;
        pages = tile->ahead ? pages + tile->k * vecs * FV_LANES : NULL;
    }
}

#endif
