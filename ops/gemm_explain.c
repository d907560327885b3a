// SPDX-License-Identifier: Apache-2.0
// ops/gemm_explain.c - says in one line what a plan of a GEMM would do.
#include "ops/gemm.h"
#include <stdio.h>

// The way of few rows and a transposed B.
static const char *in_place(const struct fovea_gemm_layout *plan, char *text, size_t size)
{
    static const char *const words[2][3] = {
        {"rows of B in place", "rows of B in place, fetched ahead", "rows of B in place, fetched into L1"},
        {"rows of B in place, eight at a time", "rows of B in place, eight at a time, fetched ahead",
         "rows of B in place, eight at a time, fetched into L1"}};
    const bool eights = fovea_gemm_side(plan, plan->desc.m) < FOVEA_PANEL, fetches = fovea_gemm_fetches(plan);
    if (!fovea_gemm_spreads(plan, plan->desc.m)) {
        return words[eights][fetches + (fetches && plan->tuning->into_l1)];
    }
    snprintf(text, size, plan->tuning->stream != 0 ? "%s, fetched into L1 %u lines ahead" : "%s",
             "rows of B in place, far apart", (unsigned)plan->tuning->stream);
    return text;
}

// Of a B that is read once, where what is prefetched leads. By how many lines is said because it is a choice: plans
// that explain themselves in the same words count as the same when a machine is tuned.
static const char *led(size_t lines, const char *what, char *text, size_t size)
{
    snprintf(text, size, "%s, fetched into L1 %zu lines ahead", what, lines);
    return text;
}

// The way of few rows and a natural B.
static const char *by_steps(const struct fovea_gemm_layout *plan, char *text, size_t size)
{
    static const char what[] = "B in place, a few rows at a time";
    if (plan->desc.m <= plan->tuning->alone) {
        snprintf(text, size, "%s, nothing prefetched", what);
        return text;
    }
    return plan->tuning->lead != 0 ? led(fovea_gemm_step_lines(plan), what, text, size) : what;
}

// The way of few columns: how A is read.
static const char *flipped(const struct fovea_gemm_layout *plan, char *text, size_t size)
{
    static const char *const rows[] = {"rows of A in place", "rows of A in place, fetched ahead",
                                       "rows of A in place, fetched into L1"};
    static const char what[] = "A in place, a few rows at a time";
    const bool far = fovea_gemm_flip_is_far(plan);
    if (plan->desc.trans_a != FOVEA_TRANS) {
        return rows[far && plan->k <= plan->tuning->fetch_k ? 1 + plan->tuning->into_l1 : 0];
    }
    if (!far || plan->desc.n <= plan->tuning->alone) {
        snprintf(text, size, "%s, nothing prefetched", what);
        return text;
    }
    return plan->tuning->lead != 0 ? led(fovea_gemm_step_lines(plan), what, text, size) : what;
}

static const char *rows_are(size_t m)
{
    return m <= FOVEA_FEW_ROWS       ? "few (at most 8)"
           : m <= FOVEA_SEVERAL_ROWS ? "several (9 to 32)"
           : m <= FOVEA_SOME_ROWS    ? "some (33 to 192)"
                                     : "many (more than 192)";
}

// Why: what its class of shapes is, and what goes directly besides.
static void give_reasons(const struct fovea_gemm_layout *plan, char *text, size_t size)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_tuning *const tuning = &plan->kernels->tuning;
    const enum fovea_gemm_form form = fovea_gemm_form_of(d);
    const double m = (double)d->m, n = (double)d->n, k = (double)plan->k, kib = sizeof(float) / 1024.0;
    const uint32_t near = fovea_near_of(tuning, d->m, form);
    if (m * n * k == 0) {
        snprintf(text, size, "there is nothing to multiply");
        return;
    }
    char direct[80] = "";
    if (plan->flips) {
        snprintf(direct, sizeof direct, "; C is computed transposed as it has few columns");
    } else if (plan->passes) {
        snprintf(direct, sizeof direct, "; directly as all of B stays in L2 while the rows pass");
    } else if (plan->direct) {
        snprintf(direct, sizeof direct, "; directly as A, B and C have %.1f KiB", (m * k + k * n + m * n) * kib);
    }
    snprintf(text, size, "%zu %s %s; B has %.1f KiB and %s the %u KiB that they are taken to find in L2; B %s%s", d->m,
             d->m == 1 ? "row is" : "rows are", rows_are(d->m), n * k * kib,
             fovea_is_far(near, n * k) ? "exceeds" : "fits", (unsigned)near,
             form == FOVEA_FORM_PACKED ? "is packed beforehand"
             : form == FOVEA_FORM_NT   ? "lies as n x k"
                                       : "lies as k x n",
             direct);
}

enum fovea_status fovea_explain_gemm(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc, char *text,
                                     size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    struct fovea_gemm_layout plan;
    FOVEA_TRY(fovea_gemm_make(engine, desc, &plan, &why));
    const struct fovea_gemm_grid *const grid = &plan.grid;
    const bool streams = fovea_gemm_streams(&plan) && !plan.direct && desc->m <= plan.mr;
    const bool follows = fovea_gemm_follows(&plan, desc->m) && !plan.direct;
    const bool passes = grid->share_b && desc->m <= plan.tuning->pass_rows, leads = follows && plan.tuning->lead != 0;
    char rows[80];
    const bool alone = fovea_gemm_is_alone(&plan, desc->m) && !plan.direct;
    const char *const packed = alone                           ? "packed B, nothing prefetched"
                               : leads                         ? led(plan.tuning->lead, "packed B", rows, sizeof rows)
                               : follows                       ? "packed B, which hardware follows"
                               : streams && plan.tuning->ahead ? "packed B, one stream fetched ahead"
                                                               : "packed B";
    const char *const b = plan.flips                                 ? "B in place"
                          : plan.k == 0                              ? "A and B not read"
                          : desc->b_packed                           ? packed
                          : desc->trans_b && desc->m <= plan.bt_rows ? in_place(&plan, rows, sizeof rows)
                          : plan.steps                               ? by_steps(&plan, rows, sizeof rows)
                          : passes        ? "B packed as all rows pass, or first for several threads"
                          : grid->share_b ? "B packed on the way, or first for several threads"
                          : grid->pack_b  ? "B packed on the way"
                          : leads         ? led(plan.tuning->lead, "B in place", rows, sizeof rows)
                                          : "B in place";
    const char *const edge = plan.edge != 0 ? ", the last columns by " : "";
    char columns[80];
    const char *const a = plan.flips     ? flipped(&plan, columns, sizeof columns)
                          : grid->copy_a ? "A copied"
                                         : "A in place";
    char by[256]; // what computes, and in which blocks
    if (plan.flips) {
        const bool turned = desc->trans_a == FOVEA_TRANS;
        snprintf(by, sizeof by, "%s", turned ? plan.kernels->gemm_bn.name : plan.kernels->gemm_bt.name);
    } else if (plan.steps) {
        snprintf(by, sizeof by, "%s", plan.kernels->gemm_bn.name);
    } else {
        snprintf(by, sizeof by, "%s%s%s, kc %zu, rows in chunks of %zu, strips of %zu in groups of %zu%s",
                 plan.kernel->name, edge, plan.edge != 0 ? plan.kernels->gemm_edge.name : "", plan.kc, plan.chunk,
                 fovea_gemm_columns(&plan), plan.group,
                 plan.tuning->ahead && !plan.direct && !streams && !follows && !alone ? ", the next one prefetched"
                                                                                      : "");
    }
    const uint32_t tasks = fovea_gemm_count(&plan, grid, desc->m, plan.work.phases - 1);
    char because[320];
    give_reasons(&plan, because, sizeof because);
    fovea_say(
        &why,
        "gemm: %zux%zux%zu f32 %c%c batch %zu, %s%s, %s, kernel %s, %u task%s, shared %zu B, scratch %zu B, because "
        "%s",
        desc->m, desc->n, desc->k, desc->trans_a ? 't' : 'n', desc->trans_b ? 't' : 'n', desc->batch,
        plan.flips    ? "transposed, "
        : plan.along  ? "directly, along the rows of C, "
        : plan.direct ? "directly, "
                      : "",
        a, b, by, (unsigned)tasks, tasks == 1 ? "" : "s", plan.work.shared_bytes, plan.work.scratch_bytes, because);
    return FOVEA_OK;
}
