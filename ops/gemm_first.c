// SPDX-License-Identifier: Apache-2.0
// ops/gemm_first.c - the first rows of C over a transposed B that is packed on the way, by the kernel for few rows,
// which packs what it transposes: part of ops/gemm_area.c.
//
// Packing a strip takes as long as eight rows of C, because nothing else is done meanwhile. gemm_bt transposes rows of
// B, too, while it multiplies them, so packing costs no more than storing the blocks, and its 16 rows take as long as
// 17 or 18 of the tiles. Zen 4, over the same copy of B, 40 rows 1.07 times as fast, 48 rows of 4096x4096 1.17, 64 1.04
// to 1.06, 128 1.02 to 1.06, 200 1.03, 512 and 1024 cubes 1.01 and 1.00.
#include "ops/gemm_block.h"

size_t fovea_gemm_first_rows(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_gemm_bt_kernel *const bt = &plan->kernels->gemm_bt;
    const size_t rows = fovea_min(bt->mr, FOVEA_HOT_TILES * plan->mr); // acc has room for these
    const bool packs = plan->way == FOVEA_WAY_BLOCKS && plan->grid.pack_b && d->trans_b == FOVEA_TRANS &&
                       d->b_type == FOVEA_F32 && plan->blocks.count == 1 && plan->k != 0;
    const bool left = bt->required == 0 && plan->kernel->required != 0; // the scalar one, where the others are excluded
    return packs && bt->packs && !left && rows > bt->side_rows ? rows : 0;
}

// A of these rows, with those of a step adjacent, FOVEA_PANEL steps apart.
static const float *turn(const struct fovea_gemm_area *area, size_t row, size_t rows)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_a a = fovea_gemm_a_of(&plan->desc, area->a);
    const float *const first = a.first + (ptrdiff_t)row * a.row;
    float *const room = area->first_room;
    if (plan->desc.trans_a == FOVEA_TRANS) {
        plan->kernels->pack_b.run(plan->k, rows, first, a.k, room, 0);
    } else {
        plan->kernels->transpose.run(rows, plan->k, 1.0f, first, a.row, room, FOVEA_PANEL);
    }
    return room;
}

size_t fovea_gemm_first(const struct gemm_block *block, size_t row, size_t count, size_t strip, size_t end)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t rows = plan->first_rows, group = strip;
    if (rows == 0 || count <= rows || !area->pack_b || area->b_panels != NULL || gemm_is_kept(block)) {
        return 0;
    }
    const bool begins = strip == area->strip; // the tiles of each group prefetch the next one
    struct fovea_gemm_bt_tile tile = {
        .m = rows,
        .k = plan->k,
        .a = begins ? turn(area, row, rows) : area->first_room,
        .a_k = FOVEA_PANEL,
        .b_row = (ptrdiff_t)d->ldb,
        .c_row = (ptrdiff_t)(area->acc != NULL ? fovea_gemm_columns(plan) : d->ldc),
        .far = begins && fovea_gemm_fetches(plan),
        .into_l1 = plan->tuning->into_l1,
        .side = FOVEA_PANEL,
        .packed_panel = (ptrdiff_t)(FOVEA_PANEL * plan->k),
    };
    for (; strip < end; strip++) {
        const size_t column = fovea_gemm_strip_begin(plan, strip);
        float *const c = area->c + row * d->ldc + (d->gated ? column / 2 : column);
        tile.n = fovea_gemm_strip_end(plan, strip) - column;
        tile.b = (const float *)area->b + column * d->ldb;
        tile.c = area->acc != NULL ? area->acc : c;
        tile.packed = gemm_room_of(block, group, strip);
        plan->kernels->gemm_bt.run(&tile);
        const struct fovea_gemm_sums done = {.m = rows, .n = tile.n, .acc = tile.c, .acc_row = tile.c_row};
        fovea_gemm_finish(area, &done, c, row, column);
    }
    return rows;
}
