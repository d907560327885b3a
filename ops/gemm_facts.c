// SPDX-License-Identifier: Apache-2.0
// ops/gemm_facts.c - the facts of a GEMM plan, number by number.
#include "ops/facts.h"
#include "ops/gemm_follow.h"
#include "ops/gemm_tasks.h"
#include "ops/gemm_ways.h"
#include "ops/pack.h"
#include <string.h>

static enum fovea_gemm_reads reads_of(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_gemm_grid *const grid = &plan->grid;
    const enum fovea_gemm_way way = fovea_gemm_way_of(plan, d->m);
    return plan->k == 0                                       ? FOVEA_READS_NOTHING
           : way == FOVEA_WAY_FEW                             ? FOVEA_READS_FEW
           : way == FOVEA_WAY_ROWS                            ? FOVEA_READS_ROWS
           : way == FOVEA_WAY_STEPS                           ? FOVEA_READS_STEPS
           : d->b_packed                                      ? FOVEA_READS_BLOB
           : d->b_type != FOVEA_F32                           ? FOVEA_READS_WIDENED
           : grid->share_b && d->m <= plan->tuning->pass_rows ? FOVEA_READS_PASSING
           : grid->share_b                                    ? FOVEA_READS_SHARED
           : grid->pack_b                                     ? FOVEA_READS_ON_WAY
                                                              : FOVEA_READS_IN_PLACE;
}

static enum fovea_gemm_fetches into(const struct fovea_gemm_layout *plan)
{
    return plan->tuning->into_l1 ? FOVEA_FETCHES_ROWS_L1 : FOVEA_FETCHES_ROWS;
}

// If rows are read far apart some may be left over, fewer than two calls of the kernel take; how these are prefetched
// is not among the facts.
static enum fovea_gemm_fetches fetches_of_rows(const struct fovea_gemm_layout *plan)
{
    return fovea_gemm_spreads(plan, plan->desc.m)      ? FOVEA_FETCHES_APART
           : !fovea_gemm_fetches(plan)                 ? FOVEA_FETCHES_UNSAID
           : fovea_gemm_twice(plan, plan->desc.m) != 0 ? FOVEA_FETCHES_TWICE
                                                       : into(plan);
}

// Prefetches of the first rows: not of a blob.
static enum fovea_gemm_fetches fetches_of_first(const struct fovea_gemm_layout *plan)
{
    return plan->desc.b_type == FOVEA_F32 && fovea_gemm_fetches(plan) ? into(plan) : FOVEA_FETCHES_UNSAID;
}

// Prefetches of A, which is the operand read once if C is computed transposed.
static enum fovea_gemm_fetches fetches_of_a(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_tuning *const tuning = plan->tuning;
    if (plan->desc.trans_a != FOVEA_TRANS) {
        return fovea_gemm_flip_fetches(plan) ? into(plan) : FOVEA_FETCHES_UNSAID;
    }
    return !fovea_gemm_flip_is_far(plan) || plan->desc.n <= tuning->alone ? FOVEA_FETCHES_OFF
           : fovea_gemm_step_lines(plan) != 0                             ? FOVEA_FETCHES_LED
                                                                          : FOVEA_FETCHES_UNSAID;
}

static enum fovea_gemm_fetches fetches_of(const struct fovea_gemm_layout *plan, enum fovea_gemm_reads reads)
{
    if (plan->way == FOVEA_WAY_FLIP) {
        return fetches_of_a(plan);
    }
    if (reads == FOVEA_READS_ROWS) {
        return fetches_of_rows(plan);
    }
    if (reads == FOVEA_READS_STEPS) {
        return plan->desc.m <= plan->tuning->alone ? FOVEA_FETCHES_OFF
               : fovea_gemm_step_lines(plan) != 0  ? FOVEA_FETCHES_LED
                                                   : FOVEA_FETCHES_UNSAID;
    }
    if (reads == FOVEA_READS_FEW) {
        const bool quiet = fovea_few_is_quiet(plan->kernels, plan->tuning, plan->desc.b_type, plan->desc.m);
        return quiet                                                       ? FOVEA_FETCHES_OFF
               : fovea_few_of(plan->kernels, plan->desc.b_type)->lead != 0 ? FOVEA_FETCHES_PANELS
                                                                           : FOVEA_FETCHES_UNSAID;
    }
    if (reads == FOVEA_READS_NOTHING || plan->way == FOVEA_WAY_DIRECT) {
        return FOVEA_FETCHES_UNSAID;
    }
    return fovea_gemm_fetch_of(plan, plan->desc.m, plan->grid.pack_b).how;
}

static size_t lead_of(const struct fovea_gemm_layout *plan, enum fovea_gemm_reads reads,
                      enum fovea_gemm_fetches fetches)
{
    return fetches == FOVEA_FETCHES_APART                              ? fovea_gemm_stream(plan)
           : fetches != FOVEA_FETCHES_LED                              ? 0
           : reads == FOVEA_READS_STEPS || plan->way == FOVEA_WAY_FLIP ? fovea_gemm_step_lines(plan)
                                                                       : fovea_gemm_lead(plan);
}

static size_t touch_of(const struct fovea_gemm_layout *plan, enum fovea_gemm_reads reads,
                       enum fovea_gemm_fetches fetches)
{
    const bool flips = plan->way == FOVEA_WAY_FLIP;
    const size_t lines = flips ? plan->desc.n : plan->desc.m;
    if (fetches == FOVEA_FETCHES_ROWS || fetches == FOVEA_FETCHES_ROWS_L1 || fetches == FOVEA_FETCHES_TWICE) {
        return fovea_gemm_touch_rows(plan, lines, flips ? fovea_gemm_flip_side(plan) : fovea_gemm_side(plan, lines));
    }
    const bool steps = flips ? fovea_gemm_flip_is_far(plan) : reads == FOVEA_READS_STEPS;
    return steps && fetches == FOVEA_FETCHES_OFF                        ? fovea_gemm_touch_steps(plan, lines)
           : reads == FOVEA_READS_BLOB && plan->way == FOVEA_WAY_BLOCKS ? fovea_gemm_fetch_of(plan, lines, false).touch
                                                                        : 0;
}

void fovea_gemm_facts(const struct fovea_gemm_layout *plan, struct fovea_gemm_facts *facts)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const enum fovea_gemm_reads reads = reads_of(plan);
    const enum fovea_gemm_fetches fetches = fetches_of(plan, reads);
    const bool turned = d->trans_a == FOVEA_TRANS;
    memset(facts, 0, sizeof *facts);
    facts->reads = reads;
    facts->fetches = fetches;
    facts->lead = lead_of(plan, reads, fetches);
    facts->touch = touch_of(plan, reads, fetches);
    facts->tasks = fovea_gemm_count(plan, &plan->grid, d->m, plan->work.phases - 1);
    // Ways without blocks, or a micro-kernel.
    if (plan->way == FOVEA_WAY_FLIP) {
        facts->flips = turned ? FOVEA_FLIPS_STEPS : FOVEA_FLIPS_ROWS;
        facts->kernel = turned ? plan->kernels->gemm_bn.name : plan->kernels->gemm_bt.name;
        facts->side = turned ? 0 : fovea_gemm_flip_side(plan);
        facts->step_columns = fovea_gemm_flip_rows(plan);
        return;
    }
    if (plan->way == FOVEA_WAY_STEPS) {
        facts->kernel = plan->kernels->gemm_bn.name;
        facts->step_columns = fovea_gemm_step_columns(plan);
        return;
    }
    if (reads == FOVEA_READS_FEW) {
        facts->kernel = fovea_few_of(plan->kernels, d->b_type)->name;
        return;
    }
    if (reads == FOVEA_READS_ROWS) {
        facts->kernel = plan->kernels->gemm_bt.name;
        facts->side = fetches != FOVEA_FETCHES_APART ? fovea_gemm_side(plan, d->m) : 0;
        return;
    }
    const struct fovea_gemm_fetch fetch = fovea_gemm_fetch_of(plan, d->m, plan->grid.pack_b);
    const bool once = fovea_gemm_follows(&fetch) || fetch.how == FOVEA_FETCHES_STREAM;
    facts->kernel = plan->kernel->name;
    facts->edge = plan->edge != 0 ? plan->kernels->gemm_edge.name : NULL;
    facts->first = plan->first_rows != 0 && plan->first_rows < plan->chunk ? fovea_gemm_first_kernel(plan) : NULL;
    facts->first_fetches = facts->first != NULL ? fetches_of_first(plan) : FOVEA_FETCHES_UNSAID;
    facts->direct = plan->way == FOVEA_WAY_DIRECT;
    facts->along = plan->along;
    facts->passes = plan->passes;
    facts->copy_a = plan->grid.copy_a;
    facts->fetch_a = plan->grid.copy_a && turned && plan->kernel->ahead;
    facts->ahead = plan->way == FOVEA_WAY_DIRECT ? plan->fetches_next : plan->kernel->ahead && !once;
    facts->kc = plan->kc;
    facts->columns = fovea_gemm_columns(plan);
    facts->chunk = facts->direct ? 0 : plan->chunk;
    facts->group = facts->direct ? 0 : plan->group;
}

bool fovea_gemm_same(const struct fovea_gemm_layout *a, const struct fovea_gemm_layout *b)
{
    struct fovea_gemm_facts of_a, of_b;
    fovea_gemm_facts(a, &of_a);
    fovea_gemm_facts(b, &of_b);
    return memcmp(&of_a, &of_b, sizeof of_a) == 0;
}

uint32_t fovea_gemm_class_of(const struct fovea_gemm_layout *plan)
{
    return (uint32_t)(plan->tuning - plan->kernels->tuning.gemm);
}
