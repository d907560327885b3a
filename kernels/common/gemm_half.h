// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_half.h - few rows of C times panels of 16-bit elements, which are widened in registers.
//
// B comes from memory, in half of the time that f32 would take, so what an element costs besides its FMAs counts: two
// operations to widen 16 of them, once for all rows of a tile. A tile is as many panels wide as registers allow.
#ifndef FOVEA_KERNELS_COMMON_GEMM_HALF_H
#define FOVEA_KERNELS_COMMON_GEMM_HALF_H

#include "kernels/common/unroll.h"
#include "kernels/fault.h"

enum {
    HALF_AHEAD = 64, ///< steps that prefetches are ahead, 2 KiB of a panel
    HALF_PAIR = 2,   ///< steps of a line
};

/// C[R rows, P panels] of a tile, from its first row and column on; n <= 16 P columns are written. Panels without such
/// a column are the last one again.
static inline __attribute__((always_inline)) void half_tile(const struct fovea_gemm_half_tile *t,
                                                            const uint16_t *panels, float *c, size_t n, int R, int P,
                                                            fv_f32 (*load)(const uint16_t *))
{
    enum { VECS = FOVEA_PANEL / FV_LANES, MOST = 24 };
    const float *a = t->a;
    const uint16_t *b[4];
    fv_f32 acc[MOST];
    FV_UNROLL
    for (int j = 0; j < P; j++) {
        const int last = (int)((n - 1) / FOVEA_PANEL);
        b[j] = panels + (j < last ? j : last) * t->b_panel;
    }
    FV_UNROLL
    for (int i = 0; i < R * P * VECS; i++) {
        acc[i] = fv_zero();
    }
    // What is prefetched is HALF_AHEAD steps ahead or, of the last steps, the first ones of the panels after these.
    const size_t last = t->k < HALF_AHEAD ? 0 : (t->k - HALF_AHEAD) / HALF_PAIR * HALF_PAIR;
    for (size_t p = 0, steps; p < t->k; p += steps) {
        const ptrdiff_t ahead = p < last ? HALF_AHEAD * FOVEA_PANEL : P * t->b_panel - (ptrdiff_t)(last * FOVEA_PANEL);
        steps = t->k - p < HALF_PAIR ? 1 : HALF_PAIR;
        FV_UNROLL
        for (int j = 0; j < P; j++) {
            __builtin_prefetch(b[j] + ahead, 0, 3);
        }
        FV_UNROLL
        for (size_t s = 0; s < HALF_PAIR; s++) {
            if (s == steps) {
                break;
            }
            FV_UNROLL
            for (int v = 0; v < P * VECS; v++) {
                const fv_f32 x = load(b[v / VECS] + s * FOVEA_PANEL + v % VECS * FV_LANES);
                FV_UNROLL
                for (int r = 0; r < R; r++) {
                    fv_f32 *const sum = &acc[r * P * VECS + v];
                    const fv_f32 of_row = fv_set1(a[r]);
                    *sum =
                        FOVEA_FAULT_IS(GEMM_HALF_MUL_ADD) ? fv_add(fv_mul(of_row, x), *sum) : fv_fma(of_row, x, *sum);
                }
            }
            a += t->a_k;
        }
        FV_UNROLL
        for (int j = 0; j < P; j++) {
            b[j] += HALF_PAIR * FOVEA_PANEL;
        }
    }
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        FV_UNROLL
        for (int v = 0; v < P * VECS; v++) {
            float *const at = c + r * t->c_row + v * FV_LANES;
            const size_t before = (size_t)v * FV_LANES;
            if (n >= before + FV_LANES || FOVEA_FAULT_IS(GEMM_HALF_STORES_PAST_N)) {
                fv_store(at, acc[r * P * VECS + v]);
            } else if (n > before) {
                fv_store_tail(at, acc[r * P * VECS + v], n - before);
            }
        }
    }
}

/// All columns of a tile of R rows, P panels at a time.
static inline __attribute__((always_inline)) void half_rows(const struct fovea_gemm_half_tile *tile, int R, int P,
                                                            fv_f32 (*load)(const uint16_t *))
{
    const size_t columns = (size_t)P * FOVEA_PANEL;
    const uint16_t *b = tile->b;
    float *c = tile->c;
    for (size_t left = tile->n, n; left != 0; left -= n, b += P * tile->b_panel, c += columns) {
        n = left < columns ? left : columns;
        half_tile(tile, b, c, n, R, P, load);
    }
}

/// The kernel. Panels of a tile, by its rows: as many as leave registers for its sums, at most four.
static inline __attribute__((always_inline)) void half_gemm(const struct fovea_gemm_half_tile *tile,
                                                            fv_f32 (*load)(const uint16_t *))
{
#define HALF_CASE(rows, panels)                                                                                        \
    case rows:                                                                                                         \
        half_rows(tile, rows, panels, load);                                                                           \
        break;
    switch (tile->m) {
        HALF_CASE(1, 4)
#if FV_LANES == 16
        HALF_CASE(2, 4)
        HALF_CASE(3, 4)
        HALF_CASE(4, 4)
        HALF_CASE(5, 4)
        HALF_CASE(6, 4)
        HALF_CASE(7, 3)
        HALF_CASE(8, 3)
        HALF_CASE(9, 2)
        HALF_CASE(10, 2)
        HALF_CASE(11, 2)
        HALF_CASE(12, 2)
        HALF_CASE(13, 1)
        HALF_CASE(14, 1)
        HALF_CASE(15, 1)
        HALF_CASE(16, 1)
#else
        HALF_CASE(2, 2)
        HALF_CASE(3, 2)
        HALF_CASE(4, 1)
        HALF_CASE(5, 1)
        HALF_CASE(6, 1)
#endif
    default:
        break;
    }
#undef HALF_CASE
}

#endif
