// SPDX-License-Identifier: Apache-2.0
// ops/gemm_halves.c - few rows of C over a blob of 16-bit elements.
//
// Reading B from memory is the limit, so a blob of half the size takes half the time. Its elements are widened in
// registers, tile by tile, and panels are read in memory order. More rows of C take other ways, for which a strip of B
// is widened to f32 first (fovea_pack_panels).
#include "ops/gemm.h"
#include "ops/pack.h"

void fovea_gemm_halves(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_gemm_half_kernel *const kernel = fovea_half_of(plan->kernels, d->b_type);
    const struct fovea_source source = fovea_source_of(d, area->b);
    const size_t first = fovea_cut_begin(&plan->strips, area->strip) * FOVEA_PANEL;
    const size_t end = fovea_min(fovea_cut_begin(&plan->strips, area->strip + area->strips) * FOVEA_PANEL, d->n);
    const size_t room = fovea_min(fovea_round_up(end - first, FOVEA_PANEL), FOVEA_HALVES_COLUMNS); // columns of acc
    const bool turned = d->trans_a == FOVEA_TRANS;
    struct fovea_gemm_half_tile tile = {
        .m = area->rows,
        .k = plan->k,
        .a = area->a + area->row * (turned ? 1 : d->lda),
        .a_k = turned ? (ptrdiff_t)d->lda : 1,
        .b_panel = (ptrdiff_t)(FOVEA_PANEL * plan->k),
        .c_row = (ptrdiff_t)(area->acc != NULL ? room : d->ldc),
    };
    if (!turned && area->rows > 1) {
        plan->kernels->transpose.run(area->rows, plan->k, 1.0f, tile.a, (ptrdiff_t)d->lda, area->b_room,
                                     (ptrdiff_t)area->rows);
        tile.a = area->b_room;
        tile.a_k = (ptrdiff_t)area->rows;
    }
    for (size_t begin = first; begin < end; begin += tile.n) {
        float *const c = area->c + area->row * d->ldc + (d->gated ? begin / 2 : begin);
        tile.n = area->acc != NULL ? fovea_min(room, end - begin) : end - begin;
        tile.b = fovea_halves_at(&source, 0, begin / FOVEA_PANEL);
        tile.c = area->acc != NULL ? area->acc : c;
        const struct fovea_gemm_sums done = {.m = tile.m, .n = tile.n, .acc = tile.c, .acc_row = tile.c_row};
        kernel->run(&tile);
        fovea_gemm_finish(area, &done, c, area->row, begin);
    }
}
