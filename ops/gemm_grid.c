// SPDX-License-Identifier: Apache-2.0
// ops/gemm_grid.c - how a GEMM is cut into tasks.
//
// Tasks have about equal work. There are TASKS_EACH per worker, so that the largest share is within a tenth of the even
// one, but no more than TASKS, and none is below FOVEA_TASK_STEPS if fewer would do (ops/gemm_balance.c). A task is
// about as tall as wide, so that it reads least; one that packs its own strips of B has all rows.
// tests/unit/gemm_balance.c checks the cuts for that.
//
// With few large tasks each worker rereads less of what another one has read, too, of A and B from L3: two workers of
// Granite Rapids, 175 lines of the suite, 1.036 times as fast as with about 700 tasks, 1024x768x3072 1.31 and prepacked
// 1.35, 1500x512x2048 1.16 to 1.2, 1024 cubes 1.06 to 1.09, 512x3072x768 1.03 to 1.06, a 512 cube with A transposed
// 0.94. Not measured: Zen 5, Zen 4 and more workers. Tasks that read all of B anyway (passes) gain nothing from being
// few, and with 22 of them waiting for the last one costs 2 % of a 512 cube.
#include "ops/gemm_tasks.h"
#include "ops/gemm_ways.h"
#include <math.h>

// The epilogue of an element is worth about 16 steps, and fewer rows than 8 take as long as 8, because reading B from
// beyond L2 is then the limit.
enum { ELEMENT_STEPS = 16, THIN_ROWS = 8, TASKS_EACH = 16, TASKS = 704 };
// Most elements of C per task if sums of several k blocks are kept in scratch. A worker reserves four times that, 1
// MiB, in addition to what some rows of a strip take (fovea_gemm_acc).
enum { ROOM = 64 << 10 };
// Number of rows of C from which a natural B whose rows begin within cache lines is packed at the latest: each of its
// loads is two (Zen 4, ldb of 300 to 5000, 40 rows 1.07 to 1.12 times as fast in place, 100 rows 1.01 to 1.06, 150 rows
// 0.99 to 1.03, 210 rows 0.85 to 1.02).
enum { PACK_BROKEN = 144 };
// Up to WHOLE_ROWS rows are not cut, since each block of rows reads all of B; nor are blocks smaller than PACKED_ROWS
// if each packs its own B, or than FLIPPED_ROWS if rows are lanes.
enum { WHOLE_ROWS = 24, PACKED_ROWS = 32, FLIPPED_ROWS = 64 };

// Cuts a length into pieces of at most `most` each, but of no fewer than `least`; a shorter length is not cut. Uses
// pieces of one rather than a mixture of one and two.
static struct fovea_cut cut_between(size_t length, double least, double most)
{
    const double pieces = fmin(floor((double)length / fmax(least, 1)), ceil((double)length / most));
    const size_t count = 2 * pieces > (double)length && least <= 1 ? length : pieces > 1 ? (size_t)pieces : 1;
    return fovea_pieces(length, count);
}

static struct fovea_cut uncut(size_t length)
{
    return (struct fovea_cut){1, length, 0};
}

// Beyond 2^53 low bits are lost, which does not matter to a cut.
double fovea_gemm_work(const struct fovea_gemm_layout *plan, size_t rows, double columns)
{
    return fmax((double)rows, THIN_ROWS) * columns * ((double)plan->k + ELEMENT_STEPS);
}

static double task_steps(const struct fovea_gemm_layout *plan, size_t m)
{
    const double all = fovea_gemm_work(plan, m, (double)plan->desc.n) * (double)plan->desc.batch;
    const double least = fmax(FOVEA_TASK_STEPS, all / TASKS);
    const bool waits = plan->detour && plan->blocks.count > 1;
    const double room = waits ? ROOM * ((double)plan->k + ELEMENT_STEPS) : all;
    return plan->passes ? least : fmax(least, fmin(all / ((double)TASKS_EACH * plan->kernels->workers), room));
}

// Elements of C that a task of many rows should have.
static double task_elements(const struct fovea_gemm_layout *plan, size_t m)
{
    return task_steps(plan, m) / ((double)plan->k + ELEMENT_STEPS);
}

// Columns of a square task; more if C has few rows.
static double task_side(const struct fovea_gemm_layout *plan, double elements, size_t m)
{
    return fmin(fmax(sqrt(elements), elements / (double)m), (double)plan->desc.n);
}

size_t fovea_gemm_acc(const struct fovea_gemm_layout *plan)
{
    const size_t m = plan->desc.m, n = plan->desc.n;
    if (plan->way == FOVEA_WAY_STEPS) {
        return fovea_gemm_step_acc(plan);
    }
    if (!(plan->detour || plan->aside) || m == 0 || n == 0) {
        return 0;
    }
    const size_t wide = fovea_gemm_columns(plan);
    const size_t narrow = fovea_min(plan->strips.size * FOVEA_PANEL, n);
    const size_t of_blob = fovea_min(m, plan->once_rows) * FOVEA_FEW_COLUMNS; // acc of a call in ops/gemm_few.c,
    const size_t of_rows = (size_t)plan->kernels->gemm_bt.mr * FOVEA_PANEL;   // or in ops/gemm_bt.c
    const size_t few = fovea_gemm_is_blob(&plan->desc) ? of_blob : of_rows;
    if (plan->blocks.count <= 1) {
        const size_t tile = fovea_min(m, FOVEA_HOT_TILES * plan->mr) * wide;
        return fovea_max(tile, few);
    }
    // The most that a task of m or fewer rows needs. A piece is at most twice `least`, or one more than `most`; strips
    // and groups of them differ by rounding.
    const double elements = task_elements(plan, m), rounding = (double)wide / (double)narrow;
    const double side = task_side(plan, elements, fovea_min(m, WHOLE_ROWS + 1)) * rounding;
    const size_t rows = plan->desc.b_packed ? fovea_min(m, WHOLE_ROWS) : m;
    const double most = 4 * elements * rounding + 2 * (double)rows * (double)wide +
                        2 * (double)(plan->mr + 1) * (2 * side + 3 * (double)wide);
    return (size_t)fmin(fmax(most, (double)few), (double)m * (double)fovea_round_up(n, FOVEA_PANEL));
}

// Groups of strips for tasks of `rows` rows, assuming average strips.
static struct fovea_cut cut_strips(const struct fovea_gemm_layout *plan, size_t m, size_t rows)
{
    const double strip = fovea_gemm_work(plan, rows, (double)plan->desc.n) / (double)plan->strips.count;
    return cut_between(plan->strips.count, ceil(FOVEA_TASK_STEPS / strip), task_steps(plan, m) / strip);
}

// Blocks of rows for tasks of `columns` columns.
static struct fovea_cut cut_rows(const struct fovea_gemm_layout *plan, size_t m, double columns)
{
    if (m <= WHOLE_ROWS) {
        return uncut(m);
    }
    const double row = columns * ((double)plan->k + ELEMENT_STEPS), tile = (double)plan->mr;
    return cut_between(m, fmax(ceil(FOVEA_TASK_STEPS / row), tile), fmax(task_steps(plan, m) / row, tile));
}

// The columns of the narrowest group, not counting the last one, which ends where C does.
static double narrowest(const struct fovea_gemm_layout *plan, const struct fovea_cut *groups)
{
    if (groups->count < 2) {
        return (double)plan->desc.n;
    }
    const size_t begin = fovea_gemm_strip_begin(plan, fovea_cut_begin(groups, groups->count - 2));
    const size_t end = fovea_gemm_strip_begin(plan, fovea_cut_begin(groups, groups->count - 1));
    return (double)(end - begin);
}

size_t fovea_gemm_workers(const struct fovea_gemm_layout *plan, double worth)
{
    enum { EACH = 4 }; // 5 us of 20: several times what a pool that spins needs to begin and end a phase
    return worth < 2 ? 1 : (size_t)fmin(plan->kernels->workers, EACH * worth);
}

// A single product is not split into two tasks that would be too small. Batch entries that are a task each number at
// least ten per worker.
bool fovea_gemm_whole(const struct fovea_gemm_layout *plan, size_t m)
{
    const double most = plan->desc.batch == 1 ? 2 : TASKS_EACH / 10.0;
    return fovea_gemm_work(plan, m, (double)plan->desc.n) < most * task_steps(plan, m);
}

size_t fovea_gemm_packed_from(const struct fovea_gemm_layout *plan)
{
    const size_t unbroken = plan->b_aliases ? plan->tuning->alias_rows : plan->tuning->pack_rows;
    return plan->b_splits ? fovea_min(unbroken, PACK_BROKEN) : unbroken;
}

// Cuts C, before tasks are evened out.
static void cut_c(const struct fovea_gemm_layout *plan, size_t m, double worth, struct fovea_gemm_grid *grid)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const double entry = fovea_gemm_work(plan, m, (double)d->n), task = task_steps(plan, m);
    grid->rows = uncut(m);
    grid->groups = uncut(plan->strips.count);
    if (fovea_gemm_whole(plan, m)) {
        grid->batch = cut_between(d->batch, ceil(FOVEA_TASK_STEPS / entry), task / entry);
        return;
    }
    grid->batch = fovea_cut(d->batch, 1);
    if (plan->way == FOVEA_WAY_STEPS) { // rows are streams only if they are long: one task per worker
        const size_t workers = fovea_gemm_workers(plan, worth);
        grid->groups = fovea_pieces(plan->strips.count, fovea_min(workers, fovea_gemm_step_groups(plan)));
    } else if (grid->pack_b && !grid->share_b) {
        grid->groups = cut_strips(plan, m, m);
    } else if (plan->passes) { // each task reads all of B
        grid->rows = cut_rows(plan, m, (double)d->n);
    } else {
        const struct fovea_cut square = cut_rows(plan, m, task_side(plan, task_elements(plan, m), m));
        grid->groups = cut_strips(plan, m, square.size);
        grid->rows = cut_rows(plan, m, narrowest(plan, &grid->groups));
    }
}

struct fovea_gemm_grid fovea_gemm_grid(const struct fovea_gemm_layout *plan, size_t m, bool even)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    struct fovea_gemm_grid grid = {.copy_a = false};
    if (m == 0 || d->n == 0 || d->batch == 0) {
        return grid;
    }
    const bool blocks = plan->way == FOVEA_WAY_BLOCKS;
    // A narrow tile reads all of A for every panel, so a copy already pays from half its rows on.
    const bool narrow = plan->kernel->mr >= plan->kernel->nr;
    // What gemm_bt.c and gemm_few.c do: they read A, too, as it is.
    const bool in_place = m <= plan->once_rows;
    grid.copy_a = blocks && plan->aliases && !in_place && m > (narrow ? plan->mr / 2 : 2 * plan->mr);
    const bool many = m >= fovea_gemm_packed_from(plan);
    grid.pack_b = !d->b_packed && plan->k != 0 && fovea_gemm_has_strips(plan) &&
                  (d->trans_b == FOVEA_TRANS || (many && !fovea_gemm_in_place(plan)));
    // Of a blob of smaller elements each task widens its own strips: nobody expects room for all of it as f32.
    grid.share_b = blocks && grid.pack_b && d->batch == 1 && m > FOVEA_KEEP_ROWS && !in_place && d->b_type == FOVEA_F32;
    const double worth = fovea_gemm_work(plan, m, (double)d->n) * (double)d->batch / FOVEA_TASK_STEPS;
    cut_c(plan, m, worth, &grid);
    if (even) {
        const bool packs = grid.pack_b && !grid.share_b;
        const size_t least = plan->way == FOVEA_WAY_FLIP ? FLIPPED_ROWS : fovea_max(plan->mr, packs ? PACKED_ROWS : 1);
        const size_t rows = m <= WHOLE_ROWS || plan->way == FOVEA_WAY_STEPS ? 1 : fovea_max(m / least, 1);
        const size_t groups = plan->passes                   ? 1
                              : plan->way == FOVEA_WAY_STEPS ? fovea_gemm_step_groups(plan)
                                                             : plan->strips.count;
        fovea_gemm_balance(plan, m, worth, rows, groups, &grid);
    }
    return grid;
}

// Whole panels, of 64 K elements (some 10 us), or of fewer so that there are eight tasks per worker.
size_t fovea_gemm_group(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m)
{
    enum { MOST = 1 << 16, LEAST = 1 << 14, FOR_EACH = 8 };
    const size_t lines = (grid->copy_a ? m : 0) + (grid->share_b ? plan->desc.n : 0);
    const size_t even = lines / ((size_t)FOR_EACH * plan->kernels->workers);
    const size_t wanted = fovea_max(fovea_min(even, MOST / (plan->k + 1)), LEAST / (plan->k + 1)) / FOVEA_PANEL;
    return fovea_max(wanted, 1) * FOVEA_PANEL;
}

uint32_t fovea_gemm_count(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m,
                          uint32_t phase)
{
    if (phase + 1 == plan->work.phases) {
        return (uint32_t)(grid->batch.count * grid->rows.count * grid->groups.count);
    }
    const size_t group = fovea_gemm_group(plan, grid, m);
    return (uint32_t)((grid->copy_a ? fovea_ceil_div(m, group) : 0) +
                      (grid->share_b ? fovea_ceil_div(plan->desc.n, group) : 0));
}
