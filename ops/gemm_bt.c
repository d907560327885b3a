// SPDX-License-Identifier: Apache-2.0
// ops/gemm_bt.c - the way of few rows and a transposed B: each row of B is read once, where it lies.
//
// Packing B for so few rows takes longer than the product: M = 1 ran at 40 % of the read stream, 4 at 30. All of A is
// read for every panel of B, so its rows are turned into columns first: they come in the order they are read in, and do
// not meet in one set of L1 (16x4096x4096: half of the time).
#include "ops/gemm.h"

bool fovea_gemm_takes_rows(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    return !d->b_packed && d->trans_b == FOVEA_TRANS && area->b_panels == NULL && area->rows <= plan->tuning->bt_rows &&
           plan->k != 0;
}

void fovea_gemm_bt(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t begin = fovea_cut_begin(&plan->strips, area->strip) * FOVEA_PANEL;
    const size_t end = fovea_min(fovea_cut_begin(&plan->strips, area->strip + area->strips) * FOVEA_PANEL, d->n);
    const struct fovea_cut tiles = fovea_cut(area->rows, plan->kernels->gemm_bt.mr);
    const float *a = d->trans_a == FOVEA_TRANS ? area->a + area->row : area->a + area->row * d->lda;
    ptrdiff_t a_k = d->trans_a == FOVEA_TRANS ? (ptrdiff_t)d->lda : 1;
    if (d->trans_a != FOVEA_TRANS && area->rows > 1) {
        a_k = (ptrdiff_t)area->rows;
        plan->kernels->transpose.run(area->rows, plan->k, 1.0f, a, (ptrdiff_t)d->lda, area->b_room, a_k);
        a = area->b_room;
    }
    struct fovea_gemm_bt_tile tile = {
        .k = plan->k,
        .a_k = a_k,
        .b = area->b,
        .b_row = (ptrdiff_t)d->ldb,
        .c_row = area->acc != NULL ? FOVEA_PANEL : (ptrdiff_t)d->ldc,
        .far = fovea_is_far(&plan->kernels->tuning, (double)d->n * (double)plan->k),
    };
    tile.b += (ptrdiff_t)begin * tile.b_row;
    for (size_t j = begin; j < end; j += FOVEA_PANEL, tile.b += FOVEA_PANEL * tile.b_row) {
        tile.n = fovea_min(FOVEA_PANEL, end - j);
        tile.a = a;
        for (size_t t = 0, row = area->row; t < tiles.count; t++, row += tile.m) {
            float *const c = area->c + row * d->ldc + (d->gated ? j / 2 : j);
            tile.m = tiles.size + (t < tiles.longer);
            tile.c = area->acc != NULL ? area->acc : c;
            plan->kernels->gemm_bt.run(&tile);
            const struct fovea_gemm_tile done = {.m = tile.m, .n = tile.n, .c = tile.c, .c_row = tile.c_row};
            fovea_gemm_finish(area, &done, c, row, j);
            tile.a += tile.m;
        }
    }
}
