// SPDX-License-Identifier: Apache-2.0
// tune/cases.c - makes the cases of a class from the tables of problems.
#include "tune/cache.h"
#include "tune/case.h"
#include "tune/measure.h"
#include "tune/shapes.h"
#include "tune/space.h"

#include <math.h>
#include <string.h>

// The cases of a class while they are made; after the first failure no more are made.
struct list {
    struct tune_case **cases;
    uint32_t count, most;
    const struct tune_end *end;
    bool complete; // so far
};

static bool wants(struct list *list)
{
    list->complete = list->complete && !tune_over(list->end);
    return list->complete && list->count < list->most;
}

static void add(struct list *list, struct tune_case *c)
{
    list->complete = c != NULL;
    if (c)
        list->cases[list->count++] = c;
}

static void gemm_cases(const struct fovea_engine *engine, uint32_t class, struct list *list)
{
    const struct fovea_tuning *const tuning = &fovea_engine_kernels(engine)->tuning;
    const enum fovea_gemm_form form = fovea_class(class).gemm.form;
    for (size_t i = 0; i < tune_gemm_shape_count && wants(list); i++) {
        const struct tune_size size = tune_gemm_shapes[i];
        const struct tune_shape shape = {size.m, size.n, size.k, form, .near = 0};
        if (fovea_gemm_number(fovea_gemm_class(tuning, shape.m, shape.n, shape.k, form)) == class)
            add(list, tune_case_gemm(engine, &shape));
    }
}

// L2 as it was measured within the last seconds; for each class anew it took a tenth of `quick`.
static size_t l2_bytes(void)
{
    static const double fresh = 5;
    static double at = -INFINITY;
    static size_t bytes;
    if (tune_now() - at > fresh) {
        bytes = tune_measure_l2();
        at = tune_now();
    }
    return bytes;
}

static void attention_cases(const struct fovea_engine *engine, const struct tune_attention_shape *shapes, size_t count,
                            enum fovea_type type, struct list *list)
{
    const size_t near = l2_bytes();
    for (size_t i = 0; i < count && shapes[i].heads != 0 && wants(list); i++) {
        struct tune_attention_shape shape = shapes[i];
        shape.near = near;
        shape.type = type;
        add(list, tune_case_attention(engine, &shape));
    }
}

// What stays in L2 is there in each call, whatever the border is now.
static void gemm_cases_of(const struct fovea_engine *engine, const struct tune_shape *shapes, size_t count,
                          struct list *list)
{
    const size_t near = l2_bytes();
    for (size_t i = 0; i < count && wants(list); i++) {
        struct tune_shape shape = shapes[i];
        shape.near = near ? near : 1;
        add(list, tune_case_gemm(engine, &shape));
    }
}

static void slot_cases(const struct fovea_engine *engine, uint32_t class, struct list *list)
{
    const struct tune_slot_shapes *const of =
        tune_has_choice(engine, class) ? tune_slot_shapes_of(fovea_class(class).slot) : NULL;
    if (of && of->attention)
        attention_cases(engine, of->attention, of->count, of->type, list);
    else if (of)
        gemm_cases_of(engine, of->gemm, of->count, list);
    else
        add(list, tune_case_slot(class));
}

static void make_cases(const struct fovea_engine *engine, uint32_t class, struct list *list)
{
    switch (fovea_class(class).kind) {
    case FOVEA_TUNED_GEMM:
        gemm_cases(engine, class, list);
        return;
    case FOVEA_TUNED_ATTENTION:
        attention_cases(engine, tune_attention_shapes[fovea_class(class).heads], TUNE_CASES_MAX, FOVEA_F32, list);
        return;
    case FOVEA_TUNED_CACHE:
        gemm_cases_of(engine, tune_border_shapes, tune_border_shape_count, list);
        return;
    default:
        slot_cases(engine, class, list);
    }
}

// All cases of a class or none: otherwise it would be decided without what the others represent. And a choice that was
// verified on this many cases was verified on the first ones (tune/verify.c).
uint32_t tune_cases(const struct fovea_engine *engine, uint32_t class, uint32_t most, const struct tune_end *end,
                    struct tune_case *cases[TUNE_CASES_MAX], bool *complete)
{
    const bool all = fovea_class(class).kind != FOVEA_TUNED_GEMM; // their numbers matter in different shapes
    struct list list = {.cases = cases, .most = all ? TUNE_CASES_MAX : most, .end = end, .complete = true};
    make_cases(engine, class, &list);
    if (complete)
        *complete = list.complete;
    if (list.complete)
        return list.count;
    tune_cases_destroy(cases, list.count);
    return 0;
}

void tune_cases_destroy(struct tune_case *const *cases, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        cases[i]->kind->destroy(cases[i]);
}

void tune_runs_of(const char *const names[TUNE_RUNS], int32_t variants[TUNE_RUNS])
{
    for (uint32_t i = 0; i < TUNE_RUNS; i++)
        variants[i] = names[i] ? fovea_variant_find(names[i], strlen(names[i])) : -1;
}
