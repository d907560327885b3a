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
    HALF_VECS = FOVEA_PANEL / FV_LANES,
    HALF_SUMS = 24, ///< most sums of a tile
    HALF_STAY = 5,  ///< room for the vectors of A or B that stay in registers for a step
};

static inline fv_f32 half_fma(fv_f32 a, fv_f32 b, fv_f32 sum)
{
    return FOVEA_FAULT_IS(GEMM_HALF_MUL_ADD) ? fv_add(fv_mul(a, b), sum) : fv_fma(a, b, sum);
}

/// A k step: acc[R rows, P panels] += a[R] b, where panel j of b begins at b[j] + at. Besides the sums, registers hold
/// the elements of A and a vector of B, or the vectors of B and an element of A, whichever are fewer.
static inline __attribute__((always_inline)) void half_step(fv_f32 *acc, const float *a, const uint16_t *const *b,
                                                            size_t at, int R, int P, fv_f32 (*load)(const uint16_t *))
{
    const int V = P * HALF_VECS, rows_stay = R <= V, few = rows_stay ? R : V, many = rows_stay ? V : R;
    fv_f32 stay[HALF_STAY];
    FV_UNROLL
    for (int i = 0; i < few; i++) {
        stay[i] = rows_stay ? fv_set1(a[i]) : load(b[i / HALF_VECS] + at + i % HALF_VECS * FV_LANES);
    }
    FV_UNROLL
    for (int i = 0; i < many; i++) {
        const fv_f32 x = rows_stay ? load(b[i / HALF_VECS] + at + i % HALF_VECS * FV_LANES) : fv_set1(a[i]);
        FV_UNROLL
        for (int j = 0; j < few; j++) {
            fv_f32 *const sum = &acc[rows_stay ? j * V + i : i * V + j];
            *sum = half_fma(stay[j], x, *sum);
        }
    }
}

/// C[R rows, P panels] of a tile, from its first row and column on; n <= 16 P columns are written. Panels without such
/// a column are the last one again.
static inline __attribute__((always_inline)) void half_tile(const struct fovea_gemm_half_tile *t,
                                                            const uint16_t *panels, float *c, size_t n, int R, int P,
                                                            fv_f32 (*load)(const uint16_t *))
{
    const float *a = t->a;
    const uint16_t *b[4];
    fv_f32 acc[HALF_SUMS];
    FV_UNROLL
    for (int j = 0; j < P; j++) {
        const int last = (int)((n - 1) / FOVEA_PANEL);
        b[j] = panels + (j < last ? j : last) * t->b_panel;
    }
    FV_UNROLL
    for (int r = 0; r < R; r++) { // two loops: FV_UNROLL takes at most 16 iterations
        FV_UNROLL
        for (int v = 0; v < P * HALF_VECS; v++) {
            acc[r * P * HALF_VECS + v] = fv_zero();
        }
    }
    // What is prefetched is HALF_AHEAD steps ahead or, of the last steps, the first ones of the panels after these.
    const size_t pairs = t->k / HALF_PAIR;
    size_t early = pairs < HALF_AHEAD / HALF_PAIR ? 0 : pairs - HALF_AHEAD / HALF_PAIR;
    const ptrdiff_t next = P * t->b_panel - (ptrdiff_t)(early * HALF_PAIR * FOVEA_PANEL);
    for (size_t pair = 0; pair < pairs; pair++) {
        const ptrdiff_t ahead = pair < early ? HALF_AHEAD * FOVEA_PANEL : next;
        __asm__("" : "+r"(early)); // or gcc makes two loops of this one, 20 KB more
        FV_UNROLL
        for (int j = 0; j < P; j++) {
            __builtin_prefetch(b[j] + ahead, 0, 3);
        }
        half_step(acc, a, b, 0, R, P, load);
        a += t->a_k;
        __asm__("" : "+r"(a)); // an FMA whose operand has an index register is two instructions of Intel's
        half_step(acc, a, b, FOVEA_PANEL, R, P, load);
        a += t->a_k;
        FV_UNROLL
        for (int j = 0; j < P; j++) {
            b[j] += HALF_PAIR * FOVEA_PANEL;
        }
    }
    if (t->k % HALF_PAIR != 0) {
        half_step(acc, a, b, 0, R, P, load);
    }
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        FV_UNROLL
        for (int v = 0; v < P * HALF_VECS; v++) {
            float *const at = c + r * t->c_row + v * FV_LANES;
            const size_t before = (size_t)v * FV_LANES;
            if (n >= before + FV_LANES || FOVEA_FAULT_IS(GEMM_HALF_STORES_PAST_N)) {
                fv_store(at, acc[r * P * HALF_VECS + v]);
            } else if (n > before) {
                fv_store_tail(at, acc[r * P * HALF_VECS + v], n - before);
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
        HALF_CASE(3, 1)
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
