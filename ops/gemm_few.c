// SPDX-License-Identifier: Apache-2.0
// ops/gemm_few.c - few rows of C over a packed B from memory.
//
// Reading B is the limit, so a blob of 16-bit elements takes half the time of one of f32; its elements are widened in
// registers, tile by tile. Panels are read in memory order, several side by side. More rows of C over such a blob take
// other ways, for which a strip of B is widened to f32 first (fovea_pack_panels).
#include "ops/gemm.h"
#include "ops/pack.h"

void fovea_gemm_few(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_gemm_few_kernel *const kernel = fovea_few_of(plan->kernels, d->b_type);
    const char *const panels = (const char *)fovea_blob_panels(area->b);
    const size_t first = fovea_cut_begin(&plan->strips, area->strip) * FOVEA_PANEL;
    const size_t end = fovea_min(fovea_cut_begin(&plan->strips, area->strip + area->strips) * FOVEA_PANEL, d->n);
    const size_t room = fovea_min(fovea_round_up(end - first, FOVEA_PANEL), FOVEA_FEW_COLUMNS); // columns of acc
    const bool turned = d->trans_a == FOVEA_TRANS;
    struct fovea_gemm_few_tile tile = {
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
        tile.b = panels + begin * plan->k * fovea_type_bytes(d->b_type);
        tile.c = area->acc != NULL ? area->acc : c;
        const struct fovea_gemm_sums done = {.m = tile.m, .n = tile.n, .acc = tile.c, .acc_row = tile.c_row};
        kernel->run(&tile);
        fovea_gemm_finish(area, &done, c, area->row, begin);
    }
}
