// SPDX-License-Identifier: Apache-2.0
// ops/gemm_first.c - the first rows of C over a B that is packed on the way, by a kernel for few rows, which packs what
// it reads: part of ops/gemm_area.c.
//
// Packing a strip of a transposed B takes as long as eight rows of C, widening one of smaller elements as long as
// three, because nothing else is done meanwhile. gemm_bt transposes rows of B, too, and gemm_bf16 and its like widen
// panels, while they multiply, so packing costs no more than storing what they have made, and their 16 rows take as
// long as 17 or 18 of the tiles. Zen 4, over the same copy of B, transposed: 40 rows 1.07 times as fast, 48 rows of
// 4096x4096 1.17, 64 1.04 to 1.06, 128 1.02 to 1.06, 200 1.03, 512 and 1024 cubes 1.01 and 1.00. Of bf16: 33 and 40
// rows 1.05 to 1.10, 48 and 64 1.05 to 1.08, 128 1.02 to 1.04, 512 1.01 to 1.03; of 8 bits 1.04 to 1.08, 1.03
// to 1.06, 1.01 to 1.02, 1.01.
#include "ops/gemm_block.h"

// The kernel for few rows of a plan.
struct kernel {
    size_t mr, side_rows; // its rows, and those for which it packs nothing
    bool packs, scalar;
};

static struct kernel kernel_of(const struct fovea_gemm_layout *plan)
{
    const struct fovea_kernels *const kernels = plan->kernels;
    if (plan->desc.b_type == FOVEA_F32) {
        const struct fovea_gemm_bt_kernel *const bt = &kernels->gemm_bt;
        return (struct kernel){bt->mr, bt->side_rows, bt->packs, bt->required == 0};
    }
    const struct fovea_gemm_few_kernel *const few = fovea_few_of(kernels, plan->desc.b_type);
    return (struct kernel){few->mr, few->side_rows, few->packs, few->required == 0};
}

size_t fovea_gemm_first_rows(const struct fovea_gemm_layout *plan)
{
    const struct kernel kernel = kernel_of(plan);
    const size_t most = FOVEA_HOT_TILES * plan->mr; // rows that acc has room for
    const bool packs = plan->way == FOVEA_WAY_BLOCKS && plan->grid.pack_b && plan->desc.trans_b == FOVEA_TRANS &&
                       plan->blocks.count == 1 && plan->k != 0;
    const bool left = kernel.scalar && plan->kernel->required != 0; // where the others are excluded
    const bool blob = plan->desc.b_type != FOVEA_F32;               // whose kernel packs with all of its rows
    const size_t rows = blob && kernel.mr > most ? 0 : fovea_min(kernel.mr, most);
    return packs && kernel.packs && !left && rows > kernel.side_rows ? rows : 0;
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

// What the strips of a group have in common: sums of `rows` rows over a, all steps of which go to `packed` panels.
struct first {
    const struct fovea_gemm_area *area;
    size_t rows;
    const float *a;
    ptrdiff_t c_row, packed_panel;
    bool begins; // the first group, which no tiles have prefetched
};

static void run_transposed(const struct first *of, size_t column, size_t n, float *c, float *packed)
{
    const struct fovea_gemm_layout *const plan = of->area->plan;
    const size_t ldb = plan->desc.ldb;
    const struct fovea_gemm_bt_tile tile = {
        .m = of->rows,
        .n = n,
        .k = plan->k,
        .a = of->a,
        .a_k = FOVEA_PANEL,
        .b = (const float *)of->area->b + column * ldb,
        .b_row = (ptrdiff_t)ldb,
        .c = c,
        .c_row = of->c_row,
        .far = of->begins && fovea_gemm_fetches(plan),
        .into_l1 = plan->tuning->into_l1,
        .side = FOVEA_PANEL,
        .packed = packed,
        .packed_panel = of->packed_panel,
    };
    plan->kernels->gemm_bt.run(&tile);
}

static void run_blob(const struct first *of, size_t column, size_t n, float *c, float *packed)
{
    const struct fovea_gemm_layout *const plan = of->area->plan;
    const enum fovea_type type = plan->desc.b_type;
    const size_t panel = fovea_panel_bytes(type, plan->k);
    const struct fovea_gemm_few_tile tile = {
        .m = of->rows,
        .n = n,
        .k = plan->k,
        .a = of->a,
        .a_k = FOVEA_PANEL,
        .b = (const char *)fovea_blob_panels(of->area->b) + column / FOVEA_PANEL * panel,
        .b_panel = (ptrdiff_t)(panel / fovea_type_bytes(type)),
        .c = c,
        .c_row = of->c_row,
        .packed = packed,
        .packed_panel = of->packed_panel,
    };
    fovea_few_of(plan->kernels, type)->run(&tile);
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
    const struct first first = {
        .area = area,
        .rows = rows,
        .a = begins ? turn(area, row, rows) : area->first_room,
        .c_row = (ptrdiff_t)(area->acc != NULL ? fovea_gemm_columns(plan) : d->ldc),
        .packed_panel = (ptrdiff_t)(FOVEA_PANEL * plan->k),
        .begins = begins,
    };
    for (; strip < end; strip++) {
        const size_t column = fovea_gemm_strip_begin(plan, strip), n = fovea_gemm_strip_end(plan, strip) - column;
        float *const c = area->c + row * d->ldc + (d->gated ? column / 2 : column);
        float *const sums = area->acc != NULL ? area->acc : c;
        (d->b_type == FOVEA_F32 ? run_transposed : run_blob)(&first, column, n, sums,
                                                             gemm_room_of(block, group, strip));
        const struct fovea_gemm_sums done = {.m = rows, .n = n, .acc = sums, .acc_row = first.c_row};
        fovea_gemm_finish(area, &done, c, row, column);
    }
    return rows;
}
