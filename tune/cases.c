// SPDX-License-Identifier: Apache-2.0
// tune/cases.c - makes the cases of a class from the tables of problems.
#include "tune/cache.h"
#include "tune/case.h"
#include "tune/measure.h"
#include "tune/shapes.h"
#include "tune/space.h"

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

static void attention_cases(const struct fovea_engine *engine, const struct tune_attention_shape *shapes, size_t count,
                            enum fovea_type type, struct list *list)
{
    const size_t near = tune_measure_l2();
    for (size_t i = 0; i < count && shapes[i].heads != 0 && wants(list); i++) {
        struct tune_attention_shape shape = shapes[i];
        shape.near = near;
        shape.type = type;
        add(list, tune_case_attention(engine, &shape));
    }
}

static void border_cases(const struct fovea_engine *engine, struct list *list)
{
    const size_t near = tune_measure_l2();
    for (size_t i = 0; i < tune_border_shape_count && wants(list); i++) {
        struct tune_shape shape = tune_border_shapes[i];
        shape.near = near ? near : 1;
        add(list, tune_case_gemm(engine, &shape));
    }
}

static void slot_cases(const struct fovea_engine *engine, uint32_t class, struct list *list)
{
    const enum fovea_slot slot = fovea_class(class).slot;
    const bool chooses = tune_has_choice(engine, class);
    const bool bf16 = slot == FOVEA_SLOT_attention_decode_bf16, f16 = slot == FOVEA_SLOT_attention_decode_f16;
    const enum fovea_type type = bf16 ? FOVEA_BF16 : f16 ? FOVEA_F16 : FOVEA_F32;
    if ((slot == FOVEA_SLOT_attention_decode || bf16 || f16) && chooses)
        attention_cases(engine, tune_decode_shapes, tune_decode_shape_count, type, list);
    else if (slot == FOVEA_SLOT_gemm_s8 && chooses)
        for (size_t i = 0; i < tune_s8_shape_count && wants(list); i++)
            add(list, tune_case_gemm(engine, &tune_s8_shapes[i]));
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
        border_cases(engine, list);
        return;
    default:
        slot_cases(engine, class, list);
    }
}

// All cases of a class or none: otherwise it would be decided without what the others represent. And a choice that was
// verified on this many cases was verified on the first ones (tune/verify.c).
uint32_t tune_cases(const struct fovea_engine *engine, uint32_t class, uint32_t most, const struct tune_end *end,
                    struct tune_case *cases[TUNE_CASES_MAX])
{
    const bool all = fovea_class(class).kind != FOVEA_TUNED_GEMM; // their numbers matter in different shapes
    struct list list = {.cases = cases, .most = all ? TUNE_CASES_MAX : most, .end = end, .complete = true};
    make_cases(engine, class, &list);
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
