// SPDX-License-Identifier: Apache-2.0
// ops/gemm_balance.c - evens out the tasks of a GEMM that has few tasks per worker.
//
// Tasks of 20 us and more are seldom a multiple of the workers: twelve tasks on ten workers take two rounds, and 16
// strips keep 16 of 64 workers busy. So other cuts are tried, with as many tasks as some number of whole rounds has,
// and the one that by estimate finishes first is taken: first with tasks of 20 us, then with shorter ones. A worker
// that would not have 5 us of work of its own is not counted. This takes up to 4 us when making a plan, or in a call
// with fewer rows than its plan.
#include "ops/gemm_tasks.h"
#include <math.h>

// Most rounds of 20 us that are tried; most blocks of rows, or groups of strips; and the rows of C that packing a strip
// of B is worth.
enum { TURNS = 10, PIECES = 12, PACK_ROWS = 8 };
// How many times the even share is good enough, and how much sooner another cut must finish.
static const double BALANCED = 1.1, SOONER = 0.95;
// Least fraction of 20 us that a task has: normally, and where tasks have to be short.
static const double LONG = 0.95, SHORT = 0.1;

// What is cut, and the limits of the cut.
struct limits {
    const struct fovea_gemm_layout *plan;
    size_t m, workers, rows, groups;
    double share; // even share of each worker, in steps
    double room;  // most elements of C per task
    bool packs;   // each task packs its strips of B
};

// Upper bound of the time until all tasks are done, in steps: all rounds take as long as the largest task, or the even
// share plus one largest task.
static double done(const struct limits *of, const struct fovea_gemm_grid *grid)
{
    const struct fovea_gemm_desc *const d = &of->plan->desc;
    const size_t turns = fovea_ceil_div(grid->batch.count * grid->rows.count * grid->groups.count, of->workers);
    const size_t tall = fovea_cut_longest(&grid->rows) + (of->packs ? PACK_ROWS : 0);
    const size_t wide =
        fovea_min(fovea_cut_longest(&grid->groups) * fovea_cut_longest(&of->plan->strips) * FOVEA_PANEL, d->n);
    const double task = (double)fovea_cut_longest(&grid->batch) * fovea_gemm_work(of->plan, tall, (double)wide);
    return fmin((double)turns * task, of->share + task);
}

// Splits length into at most `most` pieces, using the fewest pieces whose largest is no larger than it would be with
// `most` pieces.
static struct fovea_cut pieces_alike(size_t length, size_t most)
{
    return fovea_cut(length, fovea_ceil_div(length, most));
}

struct best {
    struct fovea_gemm_grid grid;
    double time, reads; // rows of A and columns of B that all tasks read
    double least;       // least steps of a task
};

// Takes this cut if it finishes before the best one, or as soon and reads less.
static void try_cut(const struct limits *of, size_t entries, size_t rows, size_t groups, struct best *best)
{
    const struct fovea_gemm_desc *const d = &of->plan->desc;
    struct fovea_gemm_grid grid = best->grid;
    grid.batch = pieces_alike(d->batch, entries);
    grid.rows = pieces_alike(of->m, rows);
    grid.groups = pieces_alike(of->plan->strips.count, groups);
    const double strips = (double)grid.groups.size / (double)of->plan->strips.count;
    const double task = (double)grid.batch.size * fovea_gemm_work(of->plan, grid.rows.size, strips * (double)d->n);
    const double time = done(of, &grid);
    const double reads = (double)of->m * (double)grid.groups.count + (double)d->n * (double)grid.rows.count;
    const double acc = (double)fovea_cut_longest(&grid.rows) * (double)fovea_cut_longest(&grid.groups) *
                       (double)fovea_gemm_columns(of->plan);
    if (task >= best->least && acc <= of->room && time < (reads < best->reads ? 1 : SOONER) * best->time) {
        *best = (struct best){grid, time, reads, best->least};
    }
}

// Tries `tasks` tasks or somewhat fewer: whole entries if there are as many, otherwise rows and columns of each.
static void try_tasks(const struct limits *of, size_t tasks, struct best *best)
{
    const size_t batch = of->plan->desc.batch, of_entry = tasks / batch;
    if (of_entry <= 1) {
        try_cut(of, fovea_min(batch, tasks), 1, 1, best);
        return;
    }
    // Each count that a limit would truncate is tried only once.
    for (size_t i = 1; i <= fovea_min(PIECES, of_entry); i++) {
        const size_t others = of_entry / i, next = of_entry / (i + 1);
        if (i == of->rows || (i < of->rows && next < of->groups)) {
            try_cut(of, batch, i, fovea_min(of->groups, others), best);
        }
        if (i == of->groups || (i < of->groups && next < of->rows)) {
            try_cut(of, batch, fovea_min(of->rows, others), i, best);
        }
    }
}

void fovea_gemm_balance(const struct fovea_gemm_layout *plan, size_t m, double worth, size_t rows, size_t groups,
                        struct fovea_gemm_grid *grid)
{
    const size_t count = grid->batch.count * grid->rows.count * grid->groups.count;
    const size_t workers = fovea_gemm_workers(plan, worth);
    if (workers < 2 || count >= TURNS * workers) {
        return;
    }
    const bool packs = grid->pack_b && !grid->share_b;
    const double all = fovea_gemm_work(plan, m + (packs ? PACK_ROWS : 0), (double)plan->desc.n);
    const size_t batch = plan->desc.batch;
    const double share = all * (double)batch / (double)workers;
    const bool waits = plan->detour && plan->blocks.count > 1;
    const double room = waits ? (double)fovea_gemm_acc(plan) : INFINITY;
    const struct limits of = {plan, m, workers, rows, groups, share, room, packs};
    const size_t even = fovea_max((size_t)fmin(TURNS, worth / (double)workers), 1);
    const struct {
        size_t tasks;
        double least; // least fraction of 20 us of each task
    } tries[] = {{even * workers, LONG},
                 {(even - (even > 1)) * workers, LONG},
                 {workers, LONG},
                 {workers, SHORT},
                 {(even + 1) * workers, SHORT},
                 {2 * batch, SHORT},
                 {3 * batch, SHORT},
                 {4 * batch, SHORT}};
    for (size_t i = 0; i < FOVEA_COUNT(tries); i++) {
        const double time = done(&of, grid);
        if (time <= BALANCED * share) {
            break;
        }
        struct best best = {*grid, SOONER * time, INFINITY, tries[i].least * FOVEA_TASK_STEPS};
        try_tasks(&of, tries[i].tasks, &best);
        *grid = best.grid;
    }
}
