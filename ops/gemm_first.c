// SPDX-License-Identifier: Apache-2.0
// ops/gemm_first.c - the first rows of C over a B that is packed on the way, by a kernel for few rows, which packs what
// it reads: part of ops/gemm_area.c.
//
// Packing a strip of a transposed B takes as long as eight rows of C, widening one of smaller elements as long as
// three, because nothing else is done meanwhile. gemm_bt transposes rows of B, too, and gemm_bf16 and its like widen
// panels, while they multiply, so packing costs no more than storing what they have made, and their 16 rows take as
// long as 17 or 18 of the tiles. Zen 4, over the same copy of B, transposed: 40 rows 1.07 times as fast, 48 rows of
// 4096x4096 1.17, 64 1.04 to 1.06, 128 1.02 to 1.06, 200 1.03, 512 and 1024 cubes 1.01 and 1.00; k of 11008 and 14336,
// in blocks, 24 rows 1.26 to 1.30, 40 1.15 to 1.23, 64 1.11, 128 1.05 to 1.08. Of bf16: 33 and 40 rows 1.05 to 1.10, 48
// and 64 1.05 to 1.08, 128 1.02 to 1.04, 512 1.01 to 1.03; of 8 bits 1.04 to 1.08, 1.03 to 1.06, 1.01 to 1.02, 1.01, in
// blocks 1.00.
#include "ops/gemm_block.h"

// The kernel for few rows of a plan.
struct kernel {
    const char *name;
    size_t mr, side_rows; // its rows, and those for which it packs nothing
    bool packs;
    uint32_t required;
};

static struct kernel kernel_of(const struct fovea_gemm_layout *plan)
{
    const struct fovea_kernels *const kernels = plan->kernels;
    if (plan->desc.b_type == FOVEA_F32) {
        const struct fovea_gemm_bt_kernel *const bt = &kernels->gemm_bt;
        return (struct kernel){bt->name, bt->mr, bt->side_rows, bt->packs, bt->required};
    }
    const struct fovea_gemm_few_kernel *const few = fovea_few_of(kernels, plan->desc.b_type);
    return (struct kernel){few->name, few->mr, few->side_rows, few->packs, few->required};
}

// Least k of a transposed B: what is done around a panel of fewer steps counts. Zen 4, 3072 columns, packing first: 16
// steps of 40 rows 1.25 times as fast, of 128 1.07, of 300 1.03, 32 steps 1.09, 1.03 and 1.02, 48 steps of 128 1.02, 64
// steps 1.00, 1.00 and 0.98. A panel of bf16, which is soon widened, 0.97 to 0.98.
enum { FIRST_STEPS = 56 };

size_t fovea_gemm_first_rows(const struct fovea_gemm_layout *plan)
{
    const struct kernel kernel = kernel_of(plan);
    const size_t most = FOVEA_HOT_TILES * plan->mr; // rows that acc has room for
    const bool packs = plan->way == FOVEA_WAY_BLOCKS && plan->grid.pack_b && plan->desc.trans_b == FOVEA_TRANS;
    const bool left = fovea_is_left_scalar(kernel.required, plan->kernel);
    const bool blob = plan->desc.b_type != FOVEA_F32; // whose kernel packs with all of its rows
    const bool cut = plan->desc.b_type == FOVEA_S8 && plan->blocks.count > 1 && plan->unit != FOVEA_GROUP; // groups
    const bool brief = !blob && plan->k < FIRST_STEPS;
    const size_t rows = cut || brief || (blob && kernel.mr > most) ? 0 : fovea_min(kernel.mr, most);
    const bool others = plan->desc.m > rows && fovea_gemm_way_of(plan, plan->desc.m) == plan->way;
    return packs && others && kernel.packs && !left && rows > kernel.side_rows ? rows : 0;
}

const char *fovea_gemm_first_kernel(const struct fovea_gemm_layout *plan)
{
    return kernel_of(plan).name;
}

// A of these rows and the block's steps, with those of a step adjacent, FOVEA_PANEL steps apart.
static const float *turn(const struct gemm_block *block, size_t row, size_t rows)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_a a = fovea_gemm_a_of(&plan->desc, area->a);
    const float *const first = a.first + (ptrdiff_t)row * a.row + (ptrdiff_t)block->p * a.k;
    float *const room = area->first_room;
    if (plan->desc.trans_a == FOVEA_TRANS) {
        plan->kernels->pack_b.run(block->steps, rows, first, a.k, room, 0);
    } else {
        plan->kernels->transpose.run(rows, block->steps, 1.0f, first, a.row, room, FOVEA_PANEL);
    }
    return room;
}

// What the strips of a group have in common: sums of `rows` rows over a, whose steps of B go to panels of their own.
struct first {
    const struct gemm_block *block;
    size_t rows;
    const float *a;
    ptrdiff_t c_row;
    bool begins; // the first group, which no tiles have prefetched
};

static void run_transposed(const struct first *of, size_t column, size_t n, float *c, float *packed)
{
    const struct gemm_block *const block = of->block;
    const struct fovea_gemm_layout *const plan = block->area->plan;
    const size_t ldb = plan->desc.ldb;
    const struct fovea_gemm_bt_tile tile = {
        .m = of->rows,
        .n = n,
        .k = block->steps,
        .a = of->a,
        .a_k = FOVEA_PANEL,
        .b = (const float *)block->area->b + column * ldb + block->p,
        .b_row = (ptrdiff_t)ldb,
        .c = c,
        .c_row = of->c_row,
        .far = of->begins && fovea_gemm_fetches(plan),
        .into_l1 = plan->tuning->into_l1,
        .side = FOVEA_PANEL,
        .packed = packed,
        .packed_panel = (ptrdiff_t)(FOVEA_PANEL * block->steps),
        .adds = !block->first,
    };
    plan->kernels->gemm_bt.run(&tile);
}

static void run_blob(const struct first *of, size_t column, size_t n, float *c, float *packed)
{
    const struct gemm_block *const block = of->block;
    const struct fovea_gemm_layout *const plan = block->area->plan;
    const struct fovea_source source = fovea_source_of(&plan->desc, block->area->b);
    const struct fovea_gemm_few_tile tile = {
        .m = of->rows,
        .n = n,
        .k = block->steps,
        .a = of->a,
        .a_k = FOVEA_PANEL,
        .b = fovea_steps_at(&source, block->p, column / FOVEA_PANEL),
        .b_panel = (ptrdiff_t)(fovea_panel_bytes(source.type, plan->k) / fovea_type_bytes(source.type)),
        .c = c,
        .c_row = of->c_row,
        .packed = packed,
        .packed_panel = (ptrdiff_t)(FOVEA_PANEL * block->steps),
        .adds = !block->first,
    };
    fovea_few_of(plan->kernels, source.type)->run(&tile);
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
        .block = block,
        .rows = rows,
        .a = begins ? turn(block, row, rows) : area->first_room,
        .c_row = (ptrdiff_t)(area->acc != NULL ? gemm_acc_row(area) : d->ldc),
        .begins = begins,
    };
    for (; strip < end; strip++) {
        const size_t column = fovea_gemm_strip_begin(plan, strip), n = fovea_gemm_strip_end(plan, strip) - column;
        float *const c = area->c + row * d->ldc + (d->gated ? column / 2 : column);
        float *const at = area->acc != NULL ? gemm_acc_at(area, row, column) : c;
        (d->b_type == FOVEA_F32 ? run_transposed : run_blob)(&first, column, n, at, gemm_room_of(block, group, strip));
        const struct fovea_gemm_sums done = {.m = rows, .n = n, .acc = at, .acc_row = first.c_row};
        if (block->last) {
            fovea_gemm_finish(area, &done, c, row, column);
        }
    }
    return rows;
}
