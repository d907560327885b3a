// SPDX-License-Identifier: Apache-2.0
// ops/gemm_grid.c - how a GEMM is cut into tasks.
//
// Tasks of equal work: at least TASK_STEPS each, where C has that much, and else about TASKS of them: enough that the
// largest share of 64 workers is within a tenth of the even one. A task is about as tall as wide, so that it reads
// least; one that packs its own strips of B takes all rows.
#include "ops/gemm.h"
#include <math.h>

// What a task should at least do, in k steps of one element of C: 3 * 2^19 are 20 us on a core of 77 G steps/s (two
// AVX-512 FMA ports at 2.4 GHz). The end of an element is worth some 16 steps.
enum { TASK_STEPS = 3 << 19, ELEMENT_STEPS = 16, TASKS = 704 };
// Natural rows of B are read in place by fewer row tiles than this; from then on packing a strip pays.
enum { NATURAL_TILES = 3 };
// Packing a strip of B takes as long as 4 (natural) to 8 rows of C: above this it is done once, for all tasks.
enum { SHARE_ROWS = 256 };

static size_t at_least_1(size_t value)
{
    return value > 1 ? value : 1;
}

// Steps of one entry of the batch, and elements of C a task should have. Beyond 2^53 low bits are lost, which no cut
// notices.
static double entry_steps(const struct fovea_gemm_layout *plan, size_t m)
{
    return (double)m * (double)plan->desc.n * ((double)plan->k + ELEMENT_STEPS);
}

static double task_elements(const struct fovea_gemm_layout *plan, size_t m)
{
    const double even = entry_steps(plan, m) * (double)plan->desc.batch / TASKS;
    return fmax(TASK_STEPS, even) / ((double)plan->k + ELEMENT_STEPS);
}

// Rows of a task that does not pack: about as many as columns, more where C has few columns.
static size_t task_rows(const struct fovea_gemm_layout *plan, size_t m)
{
    const double elements = task_elements(plan, m);
    const double rows = fmax(sqrt(elements), elements / (double)plan->desc.n);
    return rows < (double)m ? fovea_min(m, at_least_1((size_t)rows / plan->mr) * plan->mr) : m;
}

size_t fovea_gemm_acc(const struct fovea_gemm_layout *plan)
{
    const size_t m = plan->desc.m;
    if (!plan->detour || m == 0 || plan->desc.n == 0) {
        return 0;
    }
    const size_t columns = fovea_gemm_columns(plan);
    if (plan->blocks.count <= 1) {
        return plan->mr * columns;
    }
    // Fewer rows than m only make tasks of fewer elements, and never of more rows but where they pack.
    const size_t rows = plan->desc.b_packed ? task_rows(plan, m) : m;
    return (size_t)fmax(task_elements(plan, m), (double)rows * (double)columns) + columns * plan->mr;
}

struct fovea_gemm_grid fovea_gemm_grid(const struct fovea_gemm_layout *plan, size_t m)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    struct fovea_gemm_grid grid = {.copy_a = false};
    if (m == 0 || d->n == 0 || d->batch == 0) {
        return grid;
    }
    const bool natural = !d->b_packed && plan->k != 0, alone = d->batch == 1;
    grid.copy_a = plan->aliases && m > 2 * plan->mr;
    grid.pack_b = natural && (d->trans_b == FOVEA_TRANS || m >= NATURAL_TILES * plan->mr);
    grid.share_b = grid.pack_b && alone && m > SHARE_ROWS;
    const double entry = entry_steps(plan, m), elements = task_elements(plan, m);
    const double task = elements * ((double)plan->k + ELEMENT_STEPS);
    if (entry <= task) {
        grid.batch = fovea_cut(d->batch, (size_t)fmin(task / entry, (double)d->batch));
        grid.rows = fovea_cut(m, m);
        grid.groups = fovea_cut(plan->strips.count, plan->strips.count);
        return grid;
    }
    const size_t rows = grid.pack_b && !grid.share_b ? m : task_rows(plan, m);
    const double strips =
        fmin(elements / ((double)rows * (double)fovea_gemm_columns(plan)), (double)plan->strips.count);
    grid.batch = fovea_cut(d->batch, 1);
    grid.rows = fovea_cut(m, rows);
    grid.groups = fovea_cut(plan->strips.count, at_least_1((size_t)strips));
    return grid;
}

uint32_t fovea_gemm_count(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m,
                          uint32_t phase)
{
    if (phase + 1 == plan->work.phases) {
        return (uint32_t)(grid->batch.count * grid->rows.count * grid->groups.count);
    }
    const size_t group = fovea_gemm_group(plan->k);
    return (uint32_t)((grid->copy_a ? fovea_ceil_div(m, group) : 0) +
                      (grid->share_b ? fovea_ceil_div(plan->desc.n, group) : 0));
}
