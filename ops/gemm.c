// SPDX-License-Identifier: Apache-2.0
// ops/gemm.c - runs a GEMM plan: packing tasks, then a task for each block of C.
//
// Loops of a task, outermost first: strips of nr columns, k blocks, tiles of mr rows. A task has several strips only
// where its rows of A are few enough to stay in L1 (ops/gemm_plan.c: at most 2^20 steps in all), so a strip is finished
// while it is hot: B is read along k without a jump, C is written once, and scratch holds one strip.
#include "ops/gemm.h"
#include "ops/pack.h"

// B[p,j] = first[(j / 16) * panel + p * step + j % 16]: packed panels, or natural rows (panel 16).
struct panels {
    const float *first;
    ptrdiff_t panel, step;
};

// What a task knows of its block of C, and of the strip of it that is being done.
struct block {
    const struct fovea_gemm_layout *plan;
    const struct fovea_gemm_args *args;
    struct fovea_gemm_grid grid;
    const float *shared;
    const float *a; // A[i,p] = a[i * a_row + p * a_k], i counting from the first row of C
    ptrdiff_t a_row, a_k;
    size_t row, rows;       // of the block
    size_t column, columns; // of the strip
    float *room;            // for one packed k block of the strip, where B is not packed
    float *acc;             // of the strip, where the plan takes the detour through scratch
    ptrdiff_t acc_row;      // floats of acc from one tile to the next, for each row
};

static struct panels packed(const float *first, size_t k)
{
    return (struct panels){first, (ptrdiff_t)(FOVEA_PANEL * k), FOVEA_PANEL};
}

// b from step p and column j on, j being a multiple of 16.
static struct panels moved(struct panels b, size_t p, size_t j)
{
    b.first += (ptrdiff_t)p * b.step + (ptrdiff_t)(j / FOVEA_PANEL) * b.panel;
    return b;
}

// Steps [p, p + steps) of the strip of op(B).
static struct panels strip_of_b(const struct block *block, size_t p, size_t steps)
{
    static const float nothing[FOVEA_PANEL]; // stands for A and B where no step reads them
    const struct fovea_gemm_layout *const plan = block->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    if (steps == 0) {
        return packed(nothing, 0);
    }
    if (d->b_packed) {
        return moved(packed(fovea_blob_panels(block->args->b), plan->k), p, block->column);
    }
    if (block->grid.share_b) {
        return moved(packed(block->shared + plan->b_offset, plan->k), p, block->column);
    }
    if (!block->grid.pack_strips && block->columns % FOVEA_PANEL == 0) { // a partial panel ends before its 16 columns
        const struct panels natural = {block->args->b, FOVEA_PANEL, (ptrdiff_t)d->ldb};
        return moved(natural, p, block->column);
    }
    const struct fovea_source source = {block->args->b, d->ldb, d->trans_b == FOVEA_TRANS};
    fovea_pack_panels(plan->kernels, &source, p, block->column, steps, block->columns, block->room);
    return packed(block->room, steps);
}

static void finish_tile(const struct block *block, const struct fovea_gemm_tile *tile, float *c, size_t i)
{
    const struct fovea_gemm_desc *const d = &block->plan->desc;
    const struct fovea_gemm_args *const args = block->args;
    if (tile->c == c && d->alpha == 1 && args->bias == NULL && d->activation == FOVEA_ACTIVATION_NONE) {
        return;
    }
    const struct fovea_gemm_epilogue epilogue = {
        .m = tile->m,
        .n = tile->n,
        .acc = tile->c,
        .acc_row = tile->c_row,
        .c = c,
        .c_row = (ptrdiff_t)d->ldc,
        .alpha = d->alpha,
        .beta = d->beta,
        .bias = args->bias != NULL ? args->bias + block->column : NULL,
        .residual = d->residual ? args->residual + i * d->ldr + block->column : NULL,
        .residual_row = (ptrdiff_t)d->ldr,
        .act = (uint32_t)d->activation,
    };
    block->plan->kernels->gemm_epilogue.run(&epilogue);
}

// Steps [p, p + steps) of all row tiles of the strip. b begins at step p.
static void run_tiles(const struct block *block, struct panels b, size_t p, size_t steps)
{
    const struct fovea_gemm_layout *const plan = block->plan;
    const size_t tiles = fovea_ceil_div(block->rows, plan->kernels->gemm.mr); // of equal heights: 20 = 7 + 7 + 6
    for (size_t t = 0; t < tiles; t++) {
        const size_t begin = fovea_share(block->rows, tiles, t), i = block->row + begin;
        float *const c = block->args->c + i * plan->desc.ldc + block->column;
        const struct fovea_gemm_tile tile = {
            .m = fovea_share(block->rows, tiles, t + 1) - begin,
            .n = block->columns,
            .k = steps,
            .a = steps != 0 ? block->a + (ptrdiff_t)i * block->a_row + (ptrdiff_t)p * block->a_k : b.first,
            .a_row = block->a_row,
            .a_k = block->a_k,
            .b = b.first,
            .b_panel = b.panel,
            .b_k = b.step,
            .c = plan->detour ? block->acc + (ptrdiff_t)begin * block->acc_row : c,
            .c_row = plan->detour ? (ptrdiff_t)plan->nr : (ptrdiff_t)plan->desc.ldc,
            .mode = p == 0 ? FOVEA_GEMM_STORE : FOVEA_GEMM_ADD,
        };
        plan->kernels->gemm.run(&tile);
        if (p + steps == plan->k) {
            finish_tile(block, &tile, c, i);
        }
    }
}

static void run_strip(const struct block *block)
{
    const size_t k = block->plan->k, blocks = k != 0 ? fovea_ceil_div(k, block->plan->kc) : 1;
    for (size_t i = 0; i < blocks; i++) {
        const size_t p = fovea_share(k, blocks, i), steps = fovea_share(k, blocks, i + 1) - p;
        run_tiles(block, strip_of_b(block, p, steps), p, steps);
    }
}

static void compute(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args, const float *shared,
                    float *scratch, uint32_t task)
{
    const size_t m = args->m, n = plan->desc.n;
    const struct fovea_gemm_grid grid = fovea_gemm_grid(plan, m);
    // Neighbouring tasks share what is dearer to reload: a strip of a wide B, a block of a tall A.
    const bool wide = n >= m;
    const size_t index = wide ? task % grid.row_blocks : task / grid.groups;
    const size_t group = wide ? task / grid.row_blocks : task % grid.groups;
    const size_t panels = fovea_ceil_div(n, FOVEA_PANEL);
    const size_t a_ld = plan->turn_a ? plan->k : plan->desc.lda;
    const bool a_rows = plan->turn_a || plan->desc.trans_a == FOVEA_NO_TRANS;
    struct block block = {
        .plan = plan,
        .args = args,
        .grid = grid,
        .shared = shared,
        .a = plan->turn_a ? shared : args->a,
        .a_row = a_rows ? (ptrdiff_t)a_ld : 1,
        .a_k = a_rows ? 1 : (ptrdiff_t)a_ld,
        .row = fovea_share(m, grid.row_blocks, index),
        .room = scratch,
        .acc = plan->detour ? scratch + (plan->desc.b_packed ? 0 : plan->kc * plan->nr) : NULL,
        .acc_row = plan->k <= plan->kc ? 0 : (ptrdiff_t)plan->nr, // a single k block finishes each tile at once
    };
    block.rows = fovea_share(m, grid.row_blocks, index + 1) - block.row;
    const size_t last = fovea_share(grid.strips, grid.groups, group + 1);
    for (size_t strip = fovea_share(grid.strips, grid.groups, group); strip < last; strip++) {
        block.column = fovea_share(panels, grid.strips, strip) * FOVEA_PANEL;
        block.columns = fovea_min(n, fovea_share(panels, grid.strips, strip + 1) * FOVEA_PANEL) - block.column;
        run_strip(&block);
    }
}

// Phase 0 of a plan that has shared memory: groups of rows of a transposed A, then of panels of B.
static void prepare(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args, float *shared,
                    uint32_t task)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t k = plan->k, group = fovea_gemm_group(k);
    const size_t a_tasks = plan->turn_a ? fovea_ceil_div(args->m, group) : 0;
    const size_t begin = (task < a_tasks ? task : task - a_tasks) * group;
    if (task < a_tasks) {
        plan->kernels->transpose.run(k, fovea_min(group, args->m - begin), args->a + begin, (ptrdiff_t)d->lda,
                                     shared + begin * k, (ptrdiff_t)k);
    } else {
        const struct fovea_source source = {args->b, d->ldb, d->trans_b == FOVEA_TRANS};
        fovea_pack_panels(plan->kernels, &source, 0, begin, k, fovea_min(group, d->n - begin),
                          shared + plan->b_offset + begin * k);
    }
}

static uint32_t count_tasks(const void *plan, const void *args, uint32_t phase)
{
    return fovea_gemm_count(plan, ((const struct fovea_gemm_args *)args)->m, phase);
}

static void run_task(const void *plan, const void *args, void *shared, void *scratch, uint32_t phase, uint32_t task)
{
    const struct fovea_gemm_layout *const layout = plan;
    if (phase + 1 == layout->work.phases) {
        compute(layout, args, shared, scratch, task);
    } else {
        prepare(layout, args, shared, task);
    }
}

const struct fovea_operator fovea_gemm_operator = {count_tasks, run_task};

static enum fovea_status check_args(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args)
{
    FOVEA_CHECK(plan != NULL && args != NULL, FOVEA_ERR_NULL);
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t m = args->m;
    FOVEA_CHECK(m <= d->m, FOVEA_ERR_SHAPE);
    if (m == 0 || d->n == 0) {
        return FOVEA_OK;
    }
    FOVEA_CHECK(args->c != NULL && (args->residual != NULL || !d->residual), FOVEA_ERR_NULL);
    FOVEA_CHECK(!d->residual || args->residual != args->c || d->ldr == d->ldc || m == 1, FOVEA_ERR_STRIDE);
    if (plan->k == 0) {
        return FOVEA_OK;
    }
    FOVEA_CHECK(args->a != NULL && args->b != NULL, FOVEA_ERR_NULL);
    if (d->b_packed) {
        FOVEA_CHECK(fovea_aligned(args->b), FOVEA_ERR_ALIGN);
        FOVEA_CHECK(fovea_blob_matches(args->b, d->k, d->n), FOVEA_ERR_FORMAT);
    }
    return FOVEA_OK;
}

enum fovea_status fovea_gemm(const void *plan, const struct fovea_gemm_args *args, void *shared, void *scratch,
                             const struct fovea_executor *executor)
{
    FOVEA_TRY(check_args(plan, args));
    return fovea_run(&fovea_gemm_operator, plan, args, shared, scratch, executor);
}

uint32_t fovea_gemm_tasks(const void *plan, const struct fovea_gemm_args *args, uint32_t phase)
{
    const struct fovea_gemm_layout *const layout = plan;
    return check_args(plan, args) == FOVEA_OK && phase < layout->work.phases ? count_tasks(plan, args, phase) : 0;
}

enum fovea_status fovea_gemm_task(const void *plan, const struct fovea_gemm_args *args, void *shared, void *scratch,
                                  uint32_t phase, uint32_t task)
{
    FOVEA_TRY(check_args(plan, args));
    return fovea_run_task(&fovea_gemm_operator, plan, args, shared, scratch, phase, task);
}
