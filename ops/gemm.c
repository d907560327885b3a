// SPDX-License-Identifier: Apache-2.0
// ops/gemm.c - runs a GEMM plan: tasks that prepare A and B for all, then one task per block of C; or, if one thread
// does everything, one area that prepares what it needs just before use.
#include "ops/facts.h"
#include "ops/gemm_tasks.h"
#include "ops/gemm_ways.h"
#include "ops/pack.h"
#include <math.h>
#include <stdio.h>

// Whether C cannot hold the sums of a call: because it is read at the end, or has fewer columns. A residual that is not
// C does not prevent it.
static bool needs_acc(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return d->beta != 0 || d->gated || (d->residual && args->residual == args->c);
}

// The whole area of one batch entry, with operands read in place.
static struct fovea_gemm_area area_of(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args,
                                      const struct fovea_gemm_grid *grid, size_t entry, float *scratch)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return (struct fovea_gemm_area){
        .plan = plan,
        .a = plan->k != 0 ? args->a + entry * d->batch_a : NULL,
        .b = plan->k != 0 ? (const float *)args->b + entry * d->batch_b : NULL,
        .c = args->c + entry * d->batch_c,
        .bias = args->bias,
        .residual = d->residual ? args->residual + entry * d->batch_r : NULL,
        .rows = args->m,
        .strips = plan->strips.count,
        .chunk = plan->chunk,
        .b_room = scratch != NULL ? scratch + plan->b_room : NULL,
        .first_room = scratch != NULL ? scratch + plan->first_room : NULL,
        .pack_b = grid->pack_b,
        .acc = needs_acc(plan, args) ? scratch : NULL,
    };
}

static struct fovea_gemm_grid grid_of(const struct fovea_gemm_layout *plan, size_t m, bool even)
{
    return m == plan->desc.m ? plan->grid : fovea_gemm_grid(plan, m, even);
}

// Whether the sums of an area whose C could hold them go to acc all the same.
static bool goes_aside(const struct fovea_gemm_area *area, enum fovea_gemm_way way)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const bool c_splits = fovea_gemm_begins_within(area->c) || fovea_splits_lines(plan->desc.ldc);
    return (way == FOVEA_WAY_STEPS && fovea_gemm_steps_aside(plan, area->rows, c_splits)) ||
           (way == FOVEA_WAY_BLOCKS && plan->aside);
}

// scratch begins with acc.
static void run_area(struct fovea_gemm_area *area, float *scratch)
{
    // Panels that all tasks share are there to be read, by however few rows of a task.
    const enum fovea_gemm_way way =
        area->b_panels != NULL ? area->plan->way : fovea_gemm_way_of(area->plan, area->rows);
    area->acc = area->acc == NULL && goes_aside(area, way) ? scratch : area->acc;
    switch (way) {
    case FOVEA_WAY_BLOCKS:
        fovea_gemm_area(area);
        break;
    case FOVEA_WAY_DIRECT:
        fovea_gemm_direct(area);
        break;
    case FOVEA_WAY_STEPS:
        fovea_gemm_bn(area);
        break;
    case FOVEA_WAY_FLIP:
        fovea_gemm_flip(area, scratch);
        break;
    case FOVEA_WAY_ROWS:
        fovea_gemm_bt(area);
        break;
    case FOVEA_WAY_FEW:
        fovea_gemm_few(area);
        break;
    }
}

static void compute(const struct fovea_job *job, float *scratch, uint32_t task)
{
    const struct fovea_gemm_layout *const plan = job->plan;
    const struct fovea_gemm_args *const args = job->args;
    const struct fovea_gemm_grid *const grid = &job->gemm;
    const float *const shared = job->shared;
    const bool alone = plan->desc.batch == 1;
    // Consecutive tasks share what is more expensive to reload: a strip of a wide B, or a block of a tall A.
    const bool wide = plan->desc.n >= args->m;
    const size_t in_entry = task % (grid->rows.count * grid->groups.count),
                 piece = task / (grid->rows.count * grid->groups.count);
    const size_t row = wide ? in_entry % grid->rows.count : in_entry / grid->groups.count;
    const size_t group = wide ? in_entry / grid->rows.count : in_entry % grid->groups.count;
    for (size_t entry = fovea_cut_begin(&grid->batch, piece); entry < fovea_cut_begin(&grid->batch, piece + 1);
         entry++) {
        struct fovea_gemm_area area = area_of(plan, args, grid, entry, scratch);
        area.row = fovea_cut_begin(&grid->rows, row);
        area.rows = fovea_cut_begin(&grid->rows, row + 1) - area.row;
        area.strip = fovea_cut_begin(&grid->groups, group);
        area.strips = fovea_cut_begin(&grid->groups, group + 1) - area.strip;
        area.a_copy = grid->copy_a && alone ? shared : NULL;
        area.a_room = grid->copy_a && !alone ? scratch + plan->a_room : NULL;
        area.b_panels = grid->share_b ? shared + plan->b_offset : NULL;
        run_area(&area, scratch);
    }
}

// Phase 0 of a plan with shared memory: groups of rows of A, then of panels of B.
static void prepare(const struct fovea_job *job, uint32_t task)
{
    const struct fovea_gemm_layout *const plan = job->plan;
    const struct fovea_gemm_args *const args = job->args;
    const struct fovea_gemm_desc *const d = &plan->desc;
    float *const shared = job->shared;
    const size_t k = plan->k, group = fovea_gemm_group(plan, &job->gemm, args->m);
    const size_t a_tasks = job->gemm.copy_a ? fovea_ceil_div(args->m, group) : 0;
    const size_t begin = (task < a_tasks ? task : task - a_tasks) * group;
    if (task < a_tasks) {
        const size_t pitch = fovea_gemm_pitch(k);
        const size_t first = d->trans_a == FOVEA_TRANS ? begin : begin * d->lda;
        fovea_gemm_copy_a(plan, args->a + first, k, fovea_min(group, args->m - begin), shared + begin * pitch, pitch);
    } else {
        const struct fovea_source source = fovea_source_of(d, args->b);
        fovea_pack_panels(plan->kernels, &source, 0, begin, k, fovea_min(group, d->n - begin),
                          shared + plan->b_offset + begin * k);
    }
}

static uint32_t begin(struct fovea_job *job)
{
    const size_t m = ((const struct fovea_gemm_args *)job->args)->m;
    job->gemm = grid_of(job->plan, m, !job->brief);
    return fovea_gemm_count(job->plan, &job->gemm, m, job->phase);
}

static void run_task(const struct fovea_job *job, void *scratch, uint32_t task)
{
    if (job->phase + 1 == ((const struct fovea_work *)job->plan)->phases) {
        compute(job, scratch, task);
    } else {
        prepare(job, task);
    }
}

// Whether a call needs nothing beyond its bare plan: it has all rows, and no bias.
static bool is_bare_call(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args)
{
    return plan->is_bare && args->bias == NULL && args->m == plan->desc.m;
}

// Runs everything in one thread, unless sums of several k blocks need an acc as large as C for which there is no room.
static bool run_whole(const void *plan, const void *args, void *shared, void *scratch)
{
    const struct fovea_gemm_layout *const layout = plan;
    const struct fovea_gemm_args *const call = args;
    if (is_bare_call(layout, call)) {
        fovea_gemm_bare(layout, call);
        return true;
    }
    const bool all_of_c = layout->blocks.count > 1 && needs_acc(plan, args);
    if (all_of_c && !layout->c_room) {
        return false;
    }
    if (call->m == 0 || layout->desc.n == 0) {
        return true;
    }
    const struct fovea_gemm_grid grid = grid_of(layout, call->m, false);
    const bool alone = layout->desc.batch == 1;
    for (size_t entry = 0; entry < layout->desc.batch; entry++) {
        struct fovea_gemm_area area = area_of(layout, args, &grid, entry, scratch);
        area.a_room = !grid.copy_a ? NULL : alone ? shared : (float *)scratch + layout->a_room;
        area.keep_b = grid.share_b && call->m > layout->tuning->pass_rows;
        area.chunk = grid.share_b && !area.keep_b ? call->m : area.chunk;
        area.b_room = area.keep_b ? (float *)shared + layout->b_offset : area.b_room;
        area.acc = all_of_c ? (float *)shared + layout->c_offset : area.acc;
        run_area(&area, scratch);
    }
    return true;
}

// The plan of a call: few rows over a natural B from beyond L2 have one of their own, made at room. That takes 0.2 us
// (evened out for 64 workers 1.2), and 1 MiB from L3 takes 20 (Zen 4, a plan for 512 rows, B of 9 to 64 MiB from
// memory: one and two rows 1.5 to 2.1 times as fast so, four 1.3 to 1.5, twelve 1.2 to 1.5, 16 1.0 to 1.2, 64 and more
// 0.98 to 1.03). Single tasks must agree about it by args.m alone, whatever B they are given, and have the grid of
// others like them (brief in struct fovea_job).
enum call { CALL_TASK, CALL_ALONE, CALL_SHARED };

static const struct fovea_gemm_layout *plan_of(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args,
                                               enum call call, struct fovea_gemm_layout *room)
{
    const bool splits = call != CALL_TASK && fovea_gemm_begins_within(args->b);
    const bool other = args->m < plan->desc.m || (splits && args->m <= plan->split_rows);
    const bool may = other && args->m != 0 && args->m <= plan->own_rows;
    return may && fovea_gemm_make_own(plan, args->m, splits, call == CALL_SHARED, room) ? room : plan;
}

const struct fovea_operator fovea_gemm_operator = {.begin = begin, .task = run_task, .whole = run_whole};

static enum fovea_status check_args(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args,
                                    const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("gemm", why, {"plan", plan}, {"args", args});
    FOVEA_REQUIRE(fovea_is_plan(plan, FOVEA_PLAN_GEMM), FOVEA_ERR_STRUCT, why, "gemm: the plan is not a gemm plan");
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t m = args->m;
    FOVEA_REQUIRE(m <= d->m, FOVEA_ERR_SHAPE, why, "gemm: args.m is %zu, more than the plan's %zu", m, d->m);
    if (m == 0 || d->n == 0 || d->batch == 0) {
        return FOVEA_OK;
    }
    FOVEA_REQUIRE(args->c != NULL, FOVEA_ERR_NULL, why, "gemm: args.c is NULL");
    FOVEA_REQUIRE(!d->residual || args->residual != NULL, FOVEA_ERR_NULL, why,
                  "gemm: args.residual is NULL, but the plan asks for it");
    FOVEA_REQUIRE(d->residual || args->residual == NULL, FOVEA_ERR_VALUE, why, // it would silently be ignored
                  "gemm: args.residual is given, but the plan has none");
    const bool itself = d->residual && args->residual == args->c;
    FOVEA_REQUIRE(!itself || d->ldr == d->ldc || m == 1, FOVEA_ERR_STRIDE, why,
                  "gemm: c is its own residual, with ldr %zu and ldc %zu", d->ldr, d->ldc);
    FOVEA_REQUIRE(!itself || d->batch_r == d->batch_c || d->batch == 1, FOVEA_ERR_STRIDE, why,
                  "gemm: c is its own residual, with batch_r %zu and batch_c %zu", d->batch_r, d->batch_c);
    if (plan->k == 0) {
        return FOVEA_OK;
    }
    FOVEA_REQUIRE_POINTERS("gemm", why, {"args.a", args->a}, {"args.b", args->b});
    if (fovea_gemm_is_blob(d)) {
        FOVEA_REQUIRE(fovea_aligned(args->b), FOVEA_ERR_ALIGN, why,
                      "gemm: args.b is not 64-byte aligned, as a blob of fovea_pack is");
        for (size_t entry = 0; entry < (d->batch_b != 0 ? d->batch : 1); entry++) {
            const void *const blob = (const float *)args->b + entry * d->batch_b;
            if (!fovea_blob_has(blob, &plan->header)) {
                char name[48];
                snprintf(name, sizeof name, "gemm: args.b, entry %zu,", entry);
                fovea_blob_tell(why, name, blob, (struct fovea_operand){d->b_type, d->k, d->n});
                return FOVEA_ERR_FORMAT;
            }
        }
    }
    return FOVEA_OK;
}

enum fovea_status fovea_explain_gemm_call(const void *plan, const struct fovea_gemm_args *args, char *text,
                                          size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    FOVEA_TRY(check_args(plan, args, &why));
    const struct fovea_gemm_desc *const d = &((const struct fovea_gemm_layout *)plan)->desc;
    const struct fovea_asked bias = {args->bias != NULL, "bias", NAN};
    const struct fovea_size sizes[] = {{"batch", d->batch}, {"args.m", args->m}, {"n", d->n}};
    fovea_say(&why, "gemm: batch %zu, %zux%zux%zu", d->batch, args->m, d->n, d->k);
    fovea_say_asked(&why, &bias, 1);
    fovea_say_nothing(&why, sizes, FOVEA_COUNT(sizes));
    struct fovea_gemm_layout own;
    if (plan_of(plan, args, CALL_SHARED, &own) != plan) {
        char line[FOVEA_EXPLAIN_BYTES];
        fovea_gemm_say(&own, line, sizeof line);
        fovea_say_more(&why, ", by a plan of its own (%s)", line);
    }
    fovea_say_unchecked(&why, plan);
    return FOVEA_OK;
}

static __attribute__((noinline)) enum fovea_status run_checked(const void *plan, const struct fovea_gemm_args *args,
                                                               void *shared, void *scratch,
                                                               const struct fovea_executor *executor)
{
    FOVEA_TRY(check_args(plan, args, NULL));
    if (executor == NULL && is_bare_call(plan, args)) { // faster than through fovea_run
        FOVEA_TRY(fovea_check_memory(plan, shared, scratch));
        fovea_gemm_bare(plan, args);
        return FOVEA_OK;
    }
    struct fovea_gemm_layout own;
    const enum call call = executor == NULL || executor->workers == 1 ? CALL_ALONE : CALL_SHARED;
    return fovea_run(&fovea_gemm_operator, plan_of(plan, args, call, &own), args, shared, scratch, executor);
}

// Whether check_args would find nothing wrong with a bare call. A bare plan has elements and steps, and no residual: it
// is direct, and has no detour.
static bool is_right(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return args->a != NULL && args->b != NULL && args->c != NULL && args->residual == NULL &&
           (!fovea_gemm_is_blob(d) ||
            ((d->batch == 1 || d->batch_b == 0) && fovea_aligned(args->b) && fovea_blob_has(args->b, &plan->header)));
}

// A bare call needs few of the checks, and not the stack frame of the others (Zen 4, 8 cubes 1.1 times as fast as
// through run_checked, 32 cubes 1.005).
enum fovea_status fovea_gemm(const void *plan, const struct fovea_gemm_args *args, void *shared, void *scratch,
                             const struct fovea_executor *executor)
{
    const bool right = plan != NULL && args != NULL && executor == NULL && fovea_is_plan(plan, FOVEA_PLAN_GEMM) &&
                       is_bare_call(plan, args) && is_right(plan, args) &&
                       fovea_check_memory(plan, shared, scratch) == FOVEA_OK;
    if (!right) {
        return run_checked(plan, args, shared, scratch, executor);
    }
    fovea_gemm_bare(plan, args);
    return FOVEA_OK;
}

uint32_t fovea_gemm_tasks(const void *plan, const struct fovea_gemm_args *args, uint32_t phase)
{
    struct fovea_gemm_layout own;
    const bool right = check_args(plan, args, NULL) == FOVEA_OK;
    return right ? fovea_count_tasks(&fovea_gemm_operator, plan_of(plan, args, CALL_TASK, &own), args, phase) : 0;
}

enum fovea_status fovea_gemm_task(const void *plan, const struct fovea_gemm_args *args, void *shared, void *scratch,
                                  uint32_t phase, uint32_t task)
{
    struct fovea_gemm_layout own;
    FOVEA_TRY(check_args(plan, args, NULL));
    return fovea_run_task(&fovea_gemm_operator, plan_of(plan, args, CALL_TASK, &own), args, shared, scratch, phase,
                          task);
}
