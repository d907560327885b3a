// SPDX-License-Identifier: Apache-2.0
// ops/gemm_explain.c - the facts of a GEMM plan, and their reasons, in one line.
#include "ops/facts.h"
#include "ops/gemm.h"
#include "ops/pack.h"
#include <math.h>
#include <stdio.h>

const char *const fovea_activation_names[] = {
    [FOVEA_ACTIVATION_NONE] = "no activation",  [FOVEA_ACTIVATION_RELU] = "relu", [FOVEA_ACTIVATION_GELU] = "gelu",
    [FOVEA_ACTIVATION_GELU_TANH] = "gelu_tanh", [FOVEA_ACTIVATION_TANH] = "tanh", [FOVEA_ACTIVATION_SILU] = "silu",
};

// How B is read.
static const char *const reads_words[] = {
    [FOVEA_READS_NOTHING] = "A and B not read",
    [FOVEA_READS_BLOB] = "packed B",
    [FOVEA_READS_ROWS] = "rows of B in place",
    [FOVEA_READS_STEPS] = "B in place, a few rows at a time",
    [FOVEA_READS_PASSING] = "B packed as all rows pass, or first for several threads",
    [FOVEA_READS_SHARED] = "B packed on the way, or first for several threads",
    [FOVEA_READS_ON_WAY] = "B packed on the way",
    [FOVEA_READS_IN_PLACE] = "B in place",
    [FOVEA_READS_FEW] = "packed B",
    [FOVEA_READS_WIDENED] = "packed B, widened on the way",
};

// What is prefetched of B. Nothing is said about a B that the call packs, or that the hardware prefetcher follows in
// place.
static void say_fetches(const struct fovea_gemm_facts *facts, char *text, size_t size)
{
    const bool blob = facts->reads == FOVEA_READS_BLOB, apart = facts->fetches == FOVEA_FETCHES_APART;
    text[0] = '\0';
    switch ((enum fovea_gemm_fetches)facts->fetches) {
    case FOVEA_FETCHES_OFF:
        snprintf(text, size, "%s", facts->touch != 0 ? "" : ", nothing prefetched");
        return;
    case FOVEA_FETCHES_FOLLOWED:
        snprintf(text, size, "%s", blob ? ", which hardware follows" : "");
        return;
    case FOVEA_FETCHES_LED:
    case FOVEA_FETCHES_APART:
        snprintf(text, size, facts->lead != 0 ? "%s, fetched into L1 %zu lines ahead" : "%s",
                 apart ? ", far apart" : "", facts->lead);
        return;
    case FOVEA_FETCHES_STREAM:
        snprintf(text, size, ", one stream fetched ahead");
        return;
    case FOVEA_FETCHES_ROWS:
        snprintf(text, size, ", fetched ahead");
        return;
    case FOVEA_FETCHES_TWICE:
        snprintf(text, size, ", fetched ahead twice");
        return;
    case FOVEA_FETCHES_ROWS_L1:
    case FOVEA_FETCHES_PANELS:
        snprintf(text, size, ", fetched into L1");
        return;
    case FOVEA_FETCHES_UNSAID:
        return;
    }
}

// The classes by rows, and their ranges.
static const char *const rows_words[FOVEA_ROWS_KINDS] = {"\"few\", at most 8", "\"several\", 9 to 32",
                                                         "\"some\", 33 to 192", "\"many\", more than 192"};
_Static_assert(FOVEA_FEW_ROWS == 8 && FOVEA_SEVERAL_ROWS == 32 && FOVEA_SOME_ROWS == 192, "what the words say");

// The class of shapes of the plan, and whether it is direct.
void fovea_gemm_reasons(const struct fovea_gemm_layout *plan, char *text, size_t size)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_gemm_class class = fovea_class(fovea_gemm_class_of(plan)).gemm;
    const bool flips = plan->way == FOVEA_WAY_FLIP;
    const size_t lines = flips ? d->n : d->m; // the rows of the class
    const double m = (double)d->m, n = (double)d->n, k = (double)plan->k, kib = sizeof(float) / 1024.0;
    const double operand = flips ? m * k : n * k;
    const uint32_t near = fovea_near_of(&plan->kernels->tuning, lines, class.form);
    const struct fovea_size written[] = {{"batch", d->batch}, {"m", d->m}, {"n", d->n}};
    const struct fovea_size *const zero = fovea_find_zero(written, FOVEA_COUNT(written));
    if (zero != NULL || plan->k == 0) {
        snprintf(text, size, zero != NULL ? "nothing is written: %s is 0" : "there is nothing to multiply: %s is 0",
                 zero != NULL ? zero->name
                 : d->k == 0  ? "k"
                              : "alpha");
        return;
    }
    const enum fovea_gemm_way way = fovea_gemm_way_of(plan, d->m);
    if (d->b_type != FOVEA_F32 && way == FOVEA_WAY_FEW) {
        snprintf(text, size, "%zu row%s: at most %zu, for which B is read from memory once", lines,
                 lines == 1 ? "" : "s", plan->once_rows);
        return;
    }
    char direct[80] = "";
    if (flips) {
        snprintf(direct, sizeof direct, "; C is computed transposed as it has few columns");
    } else if (plan->passes && way == FOVEA_WAY_DIRECT) {
        snprintf(direct, sizeof direct, "; directly as all of B stays in L2 while the rows pass");
    } else if (way == FOVEA_WAY_DIRECT) {
        snprintf(direct, sizeof direct, "; directly as A, B and C have %.1f KiB", (m * k + k * n + m * n) * kib);
    }
    const char *const lies[][FOVEA_FORMS] = {
        {[FOVEA_FORM_PACKED] = "B is packed beforehand",
         [FOVEA_FORM_NN] = "B lies as k x n",
         [FOVEA_FORM_NT] = d->b_type != FOVEA_F32 ? "B is packed like one that lies as n x k" : "B lies as n x k"},
        {[FOVEA_FORM_NN] = "A lies as k x m", [FOVEA_FORM_NT] = "A lies as m x k"},
    };
    snprintf(text, size, "%zu %s%s: %s; %s of %.1f KiB%s: %s the %u KiB that are taken to stay in L2; %s%s", lines,
             flips ? "column" : "row", lines == 1 ? "" : "s", rows_words[class.rows], flips ? "A" : "B", operand * kib,
             d->b_type != FOVEA_F32 ? " as f32" : "", class.far ? "\"far\", more than" : "\"near\", within",
             (unsigned)near, lies[flips][class.form], direct);
}

// What was asked for beyond sizes and transposes.
static void say_asked(const struct fovea_gemm_desc *d, const struct fovea_why *line)
{
    const bool several = d->batch > 1;
    const struct fovea_asked asked[] = {
        {several && d->batch_a == 0, "one A", NAN},
        {several && d->batch_b == 0, "one B", NAN},
        {d->alpha != 1, "alpha", (double)d->alpha},
        {d->beta != 0, "beta", (double)d->beta},
        {d->gated, "gated", NAN},
        {d->activation != FOVEA_ACTIVATION_NONE, fovea_activation_names[d->activation], NAN},
        {d->residual, several && d->batch_r == 0 ? "one residual" : "residual", NAN},
    };
    fovea_say_asked(line, asked, FOVEA_COUNT(asked));
}

// The kernels, and the blocks of those that have some.
static void say_kernels(const struct fovea_gemm_facts *f, const struct fovea_why *line)
{
    fovea_say(line, "%s", f->kernel);
    if (f->edge != NULL) {
        fovea_say_more(line, ", the last columns by %s", f->edge);
    } else if (f->first != NULL) {
        fovea_say_more(line, ", the first rows, which pack B, by %s", f->first);
    }
    if (f->columns == 0) {
        return;
    }
    fovea_say_more(line, ", kc %zu, ", f->kc);
    if (f->direct) {
        fovea_say_more(line, "strips of %zu%s", f->columns, f->ahead ? ", the next strip prefetched" : "");
    } else {
        fovea_say_more(line, "rows in chunks of %zu, strips of %zu in groups of %zu%s", f->chunk, f->columns, f->group,
                       f->ahead ? ", the next one prefetched" : "");
    }
}

void fovea_gemm_say(const struct fovea_gemm_layout *plan, char *text, size_t size)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    struct fovea_gemm_facts f;
    char fetches[64], touches[48] = "", by[256];
    fovea_gemm_facts(plan, &f);
    say_fetches(&f, fetches, sizeof fetches);
    if (f.touch != 0) {
        snprintf(touches, sizeof touches, ", pages touched %zu ahead", f.touch);
    }
    say_kernels(&f, &(struct fovea_why){by, sizeof by});
    static const char *const of_a[] = {
        [FOVEA_FLIPS_ROWS] = "rows of A in place", [FOVEA_FLIPS_STEPS] = "A in place, a few rows at a time"};
    const bool eights = f.side != 0 && f.side < FOVEA_PANEL;
    const char *const a = f.flips ? of_a[f.flips] : f.copy_a ? "A copied" : "A in place";
    const struct fovea_why line = {text, size};
    const bool small = d->b_type != FOVEA_F32;
    fovea_say(&line, "gemm: %zux%zux%zu f32 %c%s%s batch %zu", d->m, d->n, d->k, d->trans_a ? 't' : 'n',
              d->b_packed  ? " packed"
              : small      ? " packed "
              : d->trans_b ? "t"
                           : "n",
              small ? fovea_type_names[d->b_type] : "", d->batch);
    say_asked(d, &line);
    fovea_say_more(&line, ", %s%s%s%s, %s%s%s%s, kernel %s, %zu task%s, shared_bytes %zu, scratch_bytes %zu",
                   f.flips    ? "transposed, "
                   : f.along  ? "directly, along the rows of C, "
                   : f.direct ? "directly, "
                              : "",
                   a, f.flips ? fetches : "", f.flips ? touches : "",
                   f.reads == FOVEA_READS_FEW && small ? "packed B, widened in registers" : reads_words[f.reads],
                   eights ? ", eight at a time" : "", f.flips ? "" : fetches, f.flips ? "" : touches, by, f.tasks,
                   f.tasks == 1 ? "" : "s", plan->work.shared_bytes, plan->work.scratch_bytes);
}

enum fovea_status fovea_explain_gemm(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc, char *text,
                                     size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    struct fovea_gemm_layout plan;
    char because[320];
    FOVEA_TRY(fovea_gemm_make(engine, desc, &plan, &why));
    fovea_gemm_say(&plan, text, text_size);
    fovea_gemm_reasons(&plan, because, sizeof because);
    fovea_say_more(&why, ", because %s", because);
    return FOVEA_OK;
}
