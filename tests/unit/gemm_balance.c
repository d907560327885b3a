// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_balance.c - the cuts of a GEMM into tasks, on 2 to 64 workers who are simulated: no clock. The
// engine is made for as many, or for more.
//
// A worker takes the next task when it is done with one; those that would not have 5 us of their own are not counted.
// A cut is balanced if no worker gets more than the even share by over a tenth of it or by over one strip of
// micro-tiles, and worthy if no task is under 20 us of estimated work (or a twentieth below, but at the right edge of
// C, where a strip ends as n does, and for strips a panel narrower than others) or there is only one. A cut that is not
// balanced must be as fine as 5 us allow; one that is not worthy must be as coarse as balance allows.
#include "bench/gemm_shapes.h"
#include "fovea/fovea.h"
#include "ops/gemm_tasks.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

enum { WORKERS_MAX = 128, TASKS_MAX = 1 << 14 };
// Entries of a batch are cut alike: the largest share is at most so many times the even one.
static const double BATCH = 1.5;
// Panels of a strip of a few rows over a natural B, at least (ops/gemm_bn.c).
enum { STEP_PANELS = 4 };
// 20 us of k steps (ops/gemm_grid.c), the end of an element being worth 16, and 8 rows the least that B's way from
// memory allows.
static const double worth = 3 << 19;

static double steps(const struct fovea_gemm_layout *plan, size_t rows, size_t columns)
{
    return (double)(rows > 8 ? rows : 8) * (double)columns * ((double)plan->k + 16);
}

struct list {
    size_t count;
    double most, least, least_inside, all; // inside: but at the right edge of C, if strips were alike
    double work[TASKS_MAX];
};

static size_t part(const struct fovea_cut *cut, size_t i)
{
    return fovea_cut_begin(cut, i + 1) - fovea_cut_begin(cut, i);
}

// The estimated work of the tasks of a grid, in the order of their numbers (ops/gemm.c).
static void list_tasks(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m,
                       struct list *list)
{
    const size_t rows = grid->rows.count, groups = grid->groups.count, n = plan->desc.n;
    *list = (struct list){.count = grid->batch.count * rows * groups, .least = HUGE_VAL, .least_inside = HUGE_VAL};
    const double strip = (double)(fovea_round_up(n, FOVEA_PANEL)) / (double)plan->strips.count; // on average
    for (size_t task = 0; task < list->count; task++) {
        const size_t in_entry = task % (rows * groups);
        const size_t row = n >= m ? in_entry % rows : in_entry / groups;
        const size_t group = n >= m ? in_entry / rows : in_entry % groups;
        const size_t begin = fovea_gemm_strip_begin(plan, fovea_cut_begin(&grid->groups, group));
        const size_t end = fovea_gemm_strip_begin(plan, fovea_cut_begin(&grid->groups, group + 1));
        const double work = steps(plan, part(&grid->rows, row), fovea_min(end, n) - begin) *
                            (double)part(&grid->batch, task / (rows * groups));
        list->work[task] = work;
        list->all += work;
        list->most = fmax(list->most, work);
        list->least = fmin(list->least, work);
        const double alike = (double)part(&grid->groups, group) * strip, wide = (double)(fovea_min(end, n) - begin);
        if (group + 1 < groups || groups == 1)
            list->least_inside = fmin(list->least_inside, work * fmax(alike / wide, 1));
    }
}

static double largest_share(const struct list *list, size_t workers)
{
    double share[WORKERS_MAX] = {0}, largest = 0;
    for (size_t task = 0; task < list->count; task++) {
        size_t first = 0;
        for (size_t w = 1; w < workers; w++)
            first = share[w] < share[first] ? w : first;
        share[first] += list->work[task];
        largest = fmax(largest, share[first]);
    }
    return largest;
}

// A strip of micro-tiles: of rows or of columns, whichever is less; of columns where a task packs its own.
static double strip(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m)
{
    const size_t n = plan->desc.n;
    const size_t wide = plan->way == FOVEA_WAY_STEPS ? STEP_PANELS * FOVEA_PANEL : fovea_gemm_columns(plan);
    const double columns = steps(plan, m, fovea_min(n, wide));
    const double rows = steps(plan, fovea_min(m, plan->mr), n);
    return grid->pack_b && !grid->share_b ? columns : fmin(columns, rows);
}

// The workers of a plan who would have 5 us each, of what is not too little for two.
static size_t workers_of(const struct fovea_gemm_layout *plan, const struct list *list)
{
    const double most = list->all / (worth / 4) * (1 + 1e-9);
    return list->all < 2 * worth ? 1 : (size_t)fmin(fmin(plan->kernels->workers, WORKERS_MAX), most);
}

static bool balanced(const struct list *list, double strip, size_t workers)
{
    const double even = list->all / (double)workers, over = fmax(even / 10, strip);
    return list->most <= over || largest_share(list, workers) <= (even + over) * (1 + 1e-9);
}

static bool worthy(const struct list *list, double least)
{
    return list->count == 1 || least >= 0.95 * worth;
}

// Counts of parts next to a cut's, finer or coarser ones: one more or less, twice or half, and the next at which the
// smallest part differs. Returns how many, the cut's own among them.
static size_t neighbours(const struct fovea_cut *cut, size_t most, bool finer, size_t counts[4])
{
    const size_t length = cut->size * cut->count + cut->longer, size = finer ? cut->size - 1 : cut->size + 1;
    const size_t wanted[4] = {cut->count, finer ? cut->count + 1 : cut->count - 1,
                              finer ? 2 * cut->count : cut->count / 2, size != 0 ? length / size : 0};
    size_t found = 0;
    for (size_t i = 0; i < 4; i++)
        if (wanted[i] >= 1 && wanted[i] <= most)
            counts[found++] = wanted[i];
    return found;
}

// Whether a finer grid beside this one, of tasks of 5 us, is done a tenth sooner than `share`, or one of a
// tenth fewer is worthy and balanced within a tenth.
static bool better_beside(const struct fovea_gemm_layout *plan, const struct fovea_gemm_grid *grid, size_t m,
                          bool finer, double share, size_t workers, struct list *list)
{
    // Rows are not cut where each block of them would read or pack all of B, entries not where tasks have several.
    const bool whole = grid->batch.count < plan->desc.batch, packs = grid->pack_b && !grid->share_b;
    size_t rows[4], groups[4];
    const size_t panels = plan->way == FOVEA_WAY_STEPS ? STEP_PANELS : 1;
    const size_t row_counts = neighbours(
        &grid->rows, whole || packs || plan->way == FOVEA_WAY_STEPS || m <= 24 ? 1 : m / plan->mr, finer, rows);
    const size_t group_counts =
        neighbours(&grid->groups, whole || plan->passes ? 1 : plan->strips.count / panels, finer, groups);
    for (size_t i = 0; i < row_counts; i++)
        for (size_t j = 0; j < group_counts; j++) {
            struct fovea_gemm_grid other = *grid;
            other.rows = fovea_pieces(m, rows[i]);
            other.groups = fovea_pieces(plan->strips.count, groups[j]);
            const size_t count = other.batch.count * rows[i] * groups[j];
            const size_t own = grid->batch.count * grid->rows.count * grid->groups.count;
            if (count > TASKS_MAX || (finer ? count <= own : 10 * count > 9 * own))
                continue;
            list_tasks(plan, &other, m, list);
            if (finer ? list->least >= worth / 4 && largest_share(list, workers) < 0.9 * share
                      : worthy(list, list->least) && balanced(list, 0, workers))
                return true;
        }
    return false;
}

// The accumulators of the largest task of m rows, which the plan has room for, evened out or not.
static void test_room(const struct fovea_gemm_layout *plan, size_t m, bool even, const char *isa)
{
    const struct fovea_gemm_grid grid = fovea_gemm_grid(plan, m, even);
    const size_t rows = fovea_cut_longest(&grid.rows);
    for (size_t group = 0; group < grid.groups.count; group++) {
        const size_t begin = fovea_cut_begin(&plan->strips, fovea_cut_begin(&grid.groups, group));
        const size_t end = fovea_cut_begin(&plan->strips, fovea_cut_begin(&grid.groups, group + 1));
        CHECK(plan->blocks.count <= 1 || rows * (end - begin) * FOVEA_PANEL <= fovea_gemm_acc(plan),
              "%s %zux%zux%zu, %zu rows: %zu x %zu columns in %zu floats", isa, plan->desc.m, plan->desc.n, plan->k, m,
              rows, (end - begin) * FOVEA_PANEL, fovea_gemm_acc(plan));
    }
}

// What all tasks read, copied and packed first: in elements, a panel or 16 K of which are as little as a task may have.
static void test_prepared(const struct fovea_gemm_layout *plan, size_t m, const char *isa)
{
    static struct list list;
    const struct fovea_gemm_grid grid = fovea_gemm_grid(plan, m, true);
    const size_t lines[2] = {grid.copy_a ? m : 0, grid.share_b ? plan->desc.n : 0};
    const size_t count = fovea_gemm_count(plan, &grid, m, 0), group = fovea_gemm_group(plan, &grid, m);
    list = (struct list){.count = 0};
    for (int of = 0; of < 2 && count <= TASKS_MAX; of++)
        for (size_t begin = 0; begin < lines[of]; begin += group) {
            const double work = (double)fovea_min(group, lines[of] - begin) * (double)plan->k;
            list.work[list.count++] = work;
            list.all += work;
            list.most = fmax(list.most, work);
        }
    const size_t workers = fovea_min(plan->kernels->workers, WORKERS_MAX);
    CHECK(list.count == count && balanced(&list, fmax(16 * (double)plan->k, 1 << 14), workers),
          "%s %zux%zux%zu: %zu tasks prepare, %zu lines each, of %zu and %zu, for %zu workers", isa, m, plan->desc.n,
          plan->k, count, group, lines[0], lines[1], workers);
}

static void test_cut(const struct fovea_gemm_layout *plan, size_t m, const char *isa)
{
    static struct list list, other;
    const struct fovea_gemm_desc *const desc = &plan->desc;
    const struct fovea_gemm_grid grid = fovea_gemm_grid(plan, m, true);
    CHECK(grid.batch.count * grid.rows.count * grid.groups.count <= TASKS_MAX, "%zux%zux%zu", m, desc->n, desc->k);
    list_tasks(plan, &grid, m, &list);
    const double one = strip(plan, &grid, m);
    const size_t workers = workers_of(plan, &list);
    const double share = largest_share(&list, workers);
    const bool batch = desc->batch > 1 && share * (double)workers <= BATCH * list.all;
    const bool fine =
        batch || balanced(&list, one, workers) || !better_beside(plan, &grid, m, true, share, workers, &other);
    const bool coarse = desc->batch > 1 || worthy(&list, list.least_inside) ||
                        !better_beside(plan, &grid, m, false, share, workers, &other);
    CHECK(
        fine && coarse,
        "%s %zu x %zux%zux%zu %s: %zu tasks (%zu x %zu x %zu) of %.1f to %.1f us, strip %.1f us, %zu of %u workers %s",
        isa, desc->batch, m, desc->n, desc->k, desc->b_packed ? "packed" : "plain", list.count, grid.batch.count,
        grid.rows.count, grid.groups.count, list.least / worth * 20, list.most / worth * 20, one / worth * 20, workers,
        (unsigned)plan->kernels->workers, fine ? "could have larger tasks" : "are not balanced");
}

static void test_shape(const struct fovea_engine *engine, size_t batch, size_t m, size_t n, size_t k, const char *isa)
{
    for (int packed = 0; packed < 2; packed++) {
        struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
        desc.trans_b = FOVEA_TRANS;
        desc.b_packed = (uint32_t)packed;
        desc.m = m, desc.n = n, desc.k = k;
        desc.lda = desc.ldb = k, desc.ldc = n;
        desc.batch = batch;
        desc.batch_a = m * k, desc.batch_b = fovea_ceil_div(n * k, FOVEA_PANEL) * FOVEA_PANEL, desc.batch_c = m * n;
        desc.residual = 1, desc.ldr = n, desc.batch_r = m * n; // accumulators then need room
        static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
        CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "%zux%zux%zu", m, n, k);
        const size_t fewer = 1 + (m - 1) * 2 / 5; // of a call
        if (plan.work.phases > 1) {
            test_prepared(&plan, m, isa);
            test_prepared(&plan, fewer, isa);
        }
        test_cut(&plan, m, isa);
        test_cut(&plan, fewer, isa);
        for (size_t rows = 1; rows <= m; rows += 1 + rows / 5)
            for (int even = 0; even <= 1; even++)
                test_room(&plan, rows, even, isa);
        test_room(&plan, m, true, isa);
    }
}

// Many rows over a small transposed B, which one strip holds: several tasks, as what all of them read is packed first.
static void test_tall(const struct fovea_engine *engine, const char *isa)
{
    static const size_t shapes[][3] = {{1024, 64, 64}, {512, 192, 192}, {2048, 64, 128}}, least[] = {3, 8, 8};
    for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
        struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
        desc.trans_b = FOVEA_TRANS;
        desc.m = shapes[i][0], desc.n = desc.ldc = shapes[i][1], desc.k = desc.lda = desc.ldb = shapes[i][2];
        static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
        CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "tall %zu", i);
        const struct fovea_gemm_grid grid = fovea_gemm_grid(&plan, desc.m, true);
        CHECK(grid.rows.count * grid.groups.count >= least[i], "%s: %zux%zux%zu nt in %zu tasks", isa, desc.m, desc.n,
              desc.k, grid.rows.count * grid.groups.count);
    }
}

// An executor that says how many tasks the last phase had.
static void count_and_run(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                          void *arg)
{
    *(uint32_t *)state = count;
    for (uint32_t task = 0; task < count; task++)
        body(arg, task, 0);
}

// A call of fewer rows than its plan has is evened out on an executor, and task by task as it is cut at first.
static void test_call(const struct fovea_engine *engine, const char *isa)
{
    enum { ROWS = 256, FEWER = 33, WIDTH = 768 };
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = ROWS, desc.n = desc.k = desc.lda = desc.ldb = desc.ldc = WIDTH;
    desc.trans_b = FOVEA_TRANS; // over a natural B a call of few rows may have a plan of its own
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "plan");
    const struct fovea_gemm_grid even = fovea_gemm_grid(&plan, FEWER, true),
                                 at_first = fovea_gemm_grid(&plan, FEWER, false);
    const uint32_t last = plan.work.phases - 1, tasks = fovea_gemm_count(&plan, &even, FEWER, last);
    float *const operands = test_alloc((ROWS + WIDTH + ROWS) * WIDTH * sizeof *operands);
    memset(operands, 0, (ROWS + WIDTH + ROWS) * WIDTH * sizeof *operands);
    const struct fovea_gemm_args args = {
        .a = operands, .b = operands + ROWS * WIDTH, .c = operands + (ROWS + WIDTH) * WIDTH, .m = FEWER};
    void *const shared = test_alloc(plan.work.shared_bytes), *const scratch = test_alloc(2 * plan.work.scratch_bytes);
    uint32_t counted = 0;
    const struct fovea_executor executor = {.workers = 2, .state = &counted, .parallel_for = count_and_run};
    CHECK(fovea_gemm(&plan, &args, shared, scratch, &executor) == FOVEA_OK, "call");
    CHECK(counted == tasks && tasks != fovea_gemm_count(&plan, &at_first, FEWER, last), "%s: %u tasks, expected %u",
          isa, counted, tasks);
    CHECK(fovea_gemm_tasks(&plan, &args, last) == fovea_gemm_count(&plan, &at_first, FEWER, last), "%s: task by task",
          isa);
    free(operands);
    free(shared);
    free(scratch);
}

int main(void)
{
    static const uint32_t workers[] = {1, 2, 3, 5, 7, 12, 20, 33, 64, WORKERS_MAX};
    enum { COUNTS = sizeof workers / sizeof *workers };
    const int draws = getenv("FOVEA_TEST_SMALL") != NULL ? 30 : 1000;
    struct fovea_engine *engines[TEST_ISAS];
    test_engines(engines);
    for (int e = 0; e < TEST_ISAS; e++) {
        if (engines[e] == NULL)
            continue;
        for (size_t i = 0; i < COUNTS * gemm_shapes_count; i++) {
            const struct gemm_shape *const s = &gemm_shapes[i / COUNTS];
            test_set_workers(engines[e], workers[i % COUNTS]);
            test_shape(engines[e], s->batch, s->m, s->n, s->k, test_isas[e]);
            test_shape(engines[e], s->batch, fovea_ceil_div(s->m, 3), s->n, s->k, test_isas[e]);
        }
        test_set_workers(engines[e], WORKERS_MAX);
        test_tall(engines[e], test_isas[e]);
        test_call(engines[e], test_isas[e]);
        uint64_t rng = 7;
        for (int i = 0; i < draws; i++) { // sizes of 1 to 8191, as many of each power of two
            size_t size[3];
            for (int j = 0; j < 3; j++)
                size[j] = 1 + test_below(&rng, 1u << (1 + test_below(&rng, 13)));
            const size_t batch = test_below(&rng, 4) == 0 ? 1 + test_below(&rng, 400) : 1;
            test_set_workers(engines[e], 1 + (uint32_t)test_below(&rng, WORKERS_MAX));
            test_shape(engines[e], batch, size[0], size[1], size[2], test_isas[e]);
        }
    }
    test_engines_free(engines);
    return test_done();
}
