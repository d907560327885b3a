// SPDX-License-Identifier: Apache-2.0
// tune/cases.c - which problems stand for a class.
//
// A table of shapes that models have, for caches of 256 KiB to 16 MiB: those that fall into a class on this machine,
// the first ones first, stand for it. Calls are short, some 0.01 to 7 ms, so that many pairs fit into the time.
#include "tune/case.h"

static const struct {
    size_t m, n, k;
} gemm_shapes[] = {
    // few rows: decoding
    {1, 4096, 1024},
    {8, 3072, 768},
    {4, 256, 256},
    {1, 384, 384},
    {4, 2048, 512},
    {8, 384, 384},
    // several rows: a handful of sentences, drafts, the shortest prompts
    {12, 1024, 1024},
    {24, 2048, 512},
    {16, 384, 384},
    {32, 768, 768},
    {24, 256, 256},
    {32, 128, 64},
    {16, 4096, 1024},
    // some rows: prompts and the products of attention
    {48, 1024, 1024},
    {128, 2304, 768},
    {128, 384, 384},
    {64, 64, 64},
    {96, 2048, 512},
    {96, 128, 128},
    {160, 128, 64},
    {128, 4096, 1024},
    // many rows: long prompts, batches, images
    {300, 768, 768},
    {384, 1024, 1024},
    {256, 2048, 512},
    {512, 384, 384},
    {256, 256, 256},
    {1024, 384, 256},
    {197, 64, 197},
    {256, 4096, 1024},
};
enum { GEMM_SHAPES = sizeof gemm_shapes / sizeof *gemm_shapes };

static const struct tune_attention_shape attention_shapes[] = {
    {4, 256, 256, 64, false},  {4, 384, 384, 64, true},  {4, 20, 768, 64, false},  {4, 10, 768, 64, false},
    {2, 256, 256, 128, false}, {2, 384, 384, 128, true}, {2, 20, 768, 128, false}, {2, 10, 768, 128, false},
    {1, 256, 256, 256, false}, {1, 20, 512, 256, false},
};

static uint32_t gemm_cases(const struct fovea_engine *engine, uint32_t class, uint32_t most, struct tune_case **cases)
{
    const struct fovea_tuning *const tuning = &fovea_engine_kernels(engine)->tuning;
    const enum fovea_gemm_form form = (enum fovea_gemm_form)(class % 3);
    uint32_t count = 0;
    for (size_t i = 0; i < GEMM_SHAPES && count < most; i++) {
        const struct tune_shape shape = {gemm_shapes[i].m, gemm_shapes[i].n, gemm_shapes[i].k, form};
        if (fovea_gemm_class(tuning, shape.m, shape.n, shape.k, form) != class)
            continue;
        cases[count] = tune_case_gemm(engine, &shape);
        count += cases[count] != NULL;
    }
    return count;
}

static uint32_t attention_cases(const struct fovea_engine *engine, uint32_t class, uint32_t most,
                                struct tune_case **cases)
{
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof attention_shapes / sizeof *attention_shapes && count < most; i++) {
        const struct tune_attention_shape *const shape = &attention_shapes[i];
        if (FOVEA_CLASS_ATTENTION + fovea_attention_class(shape->dim, shape->dim) != class)
            continue;
        cases[count] = tune_case_attention(engine, shape);
        count += cases[count] != NULL;
    }
    return count;
}

uint32_t tune_cases(const struct fovea_engine *engine, uint32_t class, uint32_t most,
                    struct tune_case *cases[TUNE_CASES_MAX])
{
    switch (fovea_tuned_classes[class].kind) {
    case FOVEA_TUNED_GEMM:
        return gemm_cases(engine, class, most, cases);
    case FOVEA_TUNED_ATTENTION: // its numbers show in different shapes
        return attention_cases(engine, class, TUNE_CASES_MAX, cases);
    default:
        cases[0] = tune_case_slot(class);
        return cases[0] != NULL;
    }
}

bool tune_is_tuned_on(size_t m, size_t n, size_t k)
{
    for (size_t i = 0; i < GEMM_SHAPES; i++)
        if (gemm_shapes[i].m == m && gemm_shapes[i].n == n && gemm_shapes[i].k == k)
            return true;
    return false;
}
