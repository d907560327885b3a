// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_few.h - few rows of C times panels from memory. Included after gemm_few_plain.h or gemm_few_s8.h,
// which have the k loop, and the tiles, of a type of elements.
//
// Reading B is the limit, so what an element costs besides its FMAs counts: two or three operations to widen 16 of
// them, once for all rows of a tile. A tile is as many panels wide as registers allow, because memory is read faster by
// several streams. Each stream goes on where its last panel ended: a prefetcher that follows it has no new beginnings.
//
// The most rows that have a quiet tile are a fact of the variant: quiet_rows in kernels/gemm.def.
#ifndef FOVEA_KERNELS_COMMON_GEMM_FEW_H
#define FOVEA_KERNELS_COMMON_GEMM_FEW_H

#include "kernels/common/variant.h"

/// A panel of a tile: B, the first row of C, and how many of its columns are stored.
struct few_panel {
    const FEW_ELEMENT *b;
    float *c;
    size_t n;
};

static inline __attribute__((always_inline)) struct few_panel few_panel(const struct fovea_gemm_few_tile *t, size_t i)
{
    const size_t left = t->n - i * FOVEA_PANEL;
    return (struct few_panel){(const FEW_ELEMENT *)t->b + (ptrdiff_t)i * t->b_panel, t->c + i * FOVEA_PANEL,
                              left < FOVEA_PANEL ? left : FOVEA_PANEL};
}

/// C[R rows] of P panels. packed: NULL, or where the only panel goes as f32.
static inline __attribute__((always_inline)) void
few_tile(const struct fovea_gemm_few_tile *t, const struct few_panel *panels, float *packed, int R, int P, bool quiet)
{
    const FEW_ELEMENT *b[FEW_PANELS];
    fv_f32 acc[FEW_SUMS];
    FV_UNROLL
    for (int j = 0; j < P; j++) {
        b[j] = panels[j].b;
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
            const float *const at = panels->c + r * t->c_row;
            acc[r] = panels->n >= FV_LANES ? fv_load(at) : fv_load_tail(at, panels->n);
        }
    }
#endif
    few_chains(t, b, packed, acc, R, P, quiet);
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        FV_UNROLL
        for (int v = 0; v < P * FEW_VECS; v++) {
            const struct few_panel *const panel = &panels[v / FEW_VECS];
            const size_t before = (size_t)(v % FEW_VECS * FV_LANES), n = panel->n;
            float *const at = panel->c + r * t->c_row + before;
            if (n >= before + FV_LANES || FOVEA_FAULT_IS(GEMM_FEW_STORES_PAST_N)) {
                fv_store(at, acc[r * P * FEW_VECS + v]);
            } else if (n > before) {
                fv_store_tail(at, acc[r * P * FEW_VECS + v], n - before);
            }
        }
    }
}

/// All columns of a tile of R rows, in P streams, the first of them a panel longer; quiet: nothing is prefetched. Where
/// only these have a panel left, the others read the last one of it again.
static inline __attribute__((always_inline)) void few_rows(const struct fovea_gemm_few_tile *tile, int R, int P,
                                                           bool quiet)
{
    const size_t count = (tile->n + FOVEA_PANEL - 1) / FOVEA_PANEL, each = count / (size_t)P,
                 longer = count % (size_t)P;
    for (size_t turn = 0; turn < each + (longer != 0); turn++) {
        const size_t live = turn < each ? (size_t)P : longer;
        struct few_panel panels[FEW_PANELS];
        FV_UNROLL
        for (size_t j = 0; j < (size_t)P; j++) {
            const size_t stream = j < live ? j : live - 1;
            panels[j] = few_panel(tile, stream * each + (stream < longer ? stream : longer) + turn);
            panels[j].n = j < live ? panels[j].n : 0;
        }
        few_tile(tile, panels, NULL, R, P, quiet);
    }
}

#if FV_LANES == 16
/// All columns of the tile of most rows, panel by panel, each of which it packs as f32, too.
static inline __attribute__((always_inline)) void few_packing(const struct fovea_gemm_few_tile *tile)
{
    float *packed = tile->packed;
    const ptrdiff_t next = FOVEA_FAULT_IS(GEMM_FEW_PACKS_ONE_PANEL) ? 0 : tile->packed_panel;
    for (size_t i = 0; i * FOVEA_PANEL < tile->n; i++, packed += next) {
        const struct few_panel panel = few_panel(tile, i);
        few_tile(tile, &panel, packed, FEW_MR, 1, false);
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
