// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_few.h - few rows of C times panels from memory. Included after gemm_few_plain.h or gemm_few_s8.h,
// which have the k loop, and the tiles, of a type of elements.
//
// Reading B is the limit, so what an element costs besides its FMAs counts: two or three operations to widen 16 of
// them, once for all rows of a tile. A tile is as many panels wide as registers allow, because memory is read faster by
// several streams.
//
// The most rows that have a quiet tile are a fact of the variant: quiet_rows in kernels/gemm.def.
#ifndef FOVEA_KERNELS_COMMON_GEMM_FEW_H
#define FOVEA_KERNELS_COMMON_GEMM_FEW_H

#include "kernels/common/variant.h"

/// C[R rows, P panels] of a tile, from its first row and column on; n <= 16 P columns are written. Panels without such
/// a column are the last one again. packed: NULL, or where the only panel goes as f32.
static inline __attribute__((always_inline)) void few_tile(const struct fovea_gemm_few_tile *t,
                                                           const FEW_ELEMENT *panels, float *packed, float *c, size_t n,
                                                           int R, int P, bool quiet)
{
    const FEW_ELEMENT *b[FEW_PANELS];
    fv_f32 acc[FEW_SUMS];
    FV_UNROLL
    for (int j = 0; j < P; j++) {
        const int last = (int)((n - 1) / FOVEA_PANEL);
        b[j] = panels + (j < last ? j : last) * t->b_panel;
    }
    FV_UNROLL
    for (int r = 0; r < R; r++) { // two loops: FV_UNROLL takes at most 16 iterations
        FV_UNROLL
        for (int v = 0; v < P * FEW_VECS; v++) {
            acc[r * P * FEW_VECS + v] = fv_zero();
        }
    }
#if FV_LANES == 16
    if (packed != NULL && t->adds && !FOVEA_FAULT_IS(GEMM_FIRST_ADDS_NOTHING)) { // one panel
        FV_UNROLL
        for (int r = 0; r < R; r++) {
            const float *const at = c + r * t->c_row;
            acc[r] = n >= FV_LANES ? fv_load(at) : fv_load_tail(at, n);
        }
    }
#endif
    few_chains(t, b, packed, acc, R, P, quiet);
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        FV_UNROLL
        for (int v = 0; v < P * FEW_VECS; v++) {
            float *const at = c + r * t->c_row + v * FV_LANES;
            const size_t before = (size_t)v * FV_LANES;
            if (n >= before + FV_LANES || FOVEA_FAULT_IS(GEMM_FEW_STORES_PAST_N)) {
                fv_store(at, acc[r * P * FEW_VECS + v]);
            } else if (n > before) {
                fv_store_tail(at, acc[r * P * FEW_VECS + v], n - before);
            }
        }
    }
}

/// All columns of a tile of R rows, P panels at a time; quiet: nothing is prefetched.
static inline __attribute__((always_inline)) void few_rows(const struct fovea_gemm_few_tile *tile, int R, int P,
                                                           bool quiet)
{
    const size_t columns = (size_t)P * FOVEA_PANEL;
    const FEW_ELEMENT *b = tile->b;
    float *c = tile->c;
    for (size_t left = tile->n, n; left != 0; left -= n, b += P * tile->b_panel, c += columns) {
        n = left < columns ? left : columns;
        few_tile(tile, b, NULL, c, n, R, P, quiet);
    }
}

#if FV_LANES == 16
/// All columns of the tile of most rows, panel by panel, each of which it packs as f32, too.
static inline __attribute__((always_inline)) void few_packing(const struct fovea_gemm_few_tile *tile)
{
    const FEW_ELEMENT *b = tile->b;
    float *c = tile->c, *packed = tile->packed;
    const ptrdiff_t next = FOVEA_FAULT_IS(GEMM_FEW_PACKS_ONE_PANEL) ? 0 : tile->packed_panel;
    for (size_t left = tile->n, n; left != 0; left -= n, b += tile->b_panel, packed += next, c += n) {
        n = left < FOVEA_PANEL ? left : FOVEA_PANEL;
        few_tile(tile, b, packed, c, n, FEW_MR, 1, false);
    }
}
#endif

/// The kernel.
static inline __attribute__((always_inline)) void few_gemm(const struct fovea_gemm_few_tile *tile)
{
#define FEW_CASE(quiet, rows, panels)                                                                                  \
    case rows:                                                                                                         \
        few_rows(tile, rows, panels, quiet);                                                                           \
        return;
#define FEW_LOUD_CASE(rows, panels) FEW_CASE(false, rows, panels)
#define FEW_QUIET_CASE(rows, panels) FEW_CASE(true, rows, panels)
#if FV_LANES == 16
    if (sizeof(FEW_ELEMENT) < sizeof(float) && tile->packed != NULL) {
        few_packing(tile);
        return;
    }
#endif
    switch (tile->quiet ? tile->m : 0) {
        FEW_QUIET_SHAPES(FEW_QUIET_CASE)
    default:
        break;
    }
    switch (tile->m) {
        FEW_SHAPES(FEW_LOUD_CASE)
    default:
        break;
    }
#undef FEW_QUIET_CASE
#undef FEW_LOUD_CASE
#undef FEW_CASE
}

#endif
