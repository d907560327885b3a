// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_pinned.c - small products by each micro-kernel, pinned, whatever the defaults take it for, and by
// pairs of panels where the ISA has them: the bits of the scalar tiles, and nothing beside the operands.
#include "fovea/fovea.h"
#include "kernels/tuning.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

#include <stdbool.h>
#include <string.h>

enum { ROWS = 13, COLUMNS = 49, STEPS = 33, FORMS = 3 };
static const size_t rows[] = {1, 2, 3, 4, 6, 7, 10, ROWS}, steps[] = {1, 4, 7, STEPS};
static const char *const forms[FORMS] = {"packed", "nn", "nt"};
static float values[ROWS * STEPS + COLUMNS * STEPS];

// C of one call, in memory of its own, as are the operands.
static const float *product(const struct fovea_engine *engine, size_t m, size_t n, size_t k, int form, bool turned,
                            enum test_side side)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = m, d.n = n, d.k = k, d.lda = turned ? m : k, d.ldc = n;
    d.trans_a = turned ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.b_packed = form == 0;
    d.trans_b = form == 2 ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.ldb = form == 2 ? k : n;
    float *const a = test_floats(m * k, side), *const b = test_floats(n * k, side), *const c = test_floats(m * n, side);
    memcpy(a, values, m * k * sizeof *a);
    memcpy(b, values + ROWS * STEPS, n * k * sizeof *b);
    struct fovea_gemm_args args = {.a = a, .b = b, .c = c, .m = m};
    if (d.b_packed)
        args.b = test_pack(engine, FOVEA_NO_TRANS, k, n, b, n);
    CHECK(test_run(&test_gemm, engine, &d, &args, TEST_SERIAL, 1) == FOVEA_OK, "run");
    return c;
}

static struct pinned {
    struct fovea_engine *engine;
    struct fovea_variant variant;
} pinned[32];
static size_t pins;

static void pin(const struct fovea_variant *variant)
{
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    struct fovea_engine *engine = NULL;
    options.workers = 1;
    options.isa = variant->isa;
    options.pin = variant->name;
    options.profile = "none";
    const enum fovea_status status = fovea_engine_create(&options, &engine);
    if (status == FOVEA_ERR_UNSUPPORTED) {
        printf("skip: %s: this CPU lacks it\n", variant->name);
        return;
    }
    CHECK(status == FOVEA_OK && pins < sizeof pinned / sizeof *pinned, "%s: %d", variant->name, (int)status);
    if (test_failed != 0)
        return;
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
        test_tuning(engine)->gemm[i].pairs = 1;
    pinned[pins++] = (struct pinned){engine, *variant};
}

static void test_sizes(const struct fovea_engine *scalar, size_t m, size_t n, size_t k)
{
    for (int i = 0; i < 2 * FORMS; i++) {
        const int form = i % FORMS;
        const bool turned = i / FORMS != 0;
        const float *const want = product(scalar, m, n, k, form, turned, TEST_HIGH);
        for (size_t j = 0; j < 2 * pins; j++) {
            const struct pinned *const p = &pinned[j / 2];
            const float *const got = product(p->engine, m, n, k, form, turned, j % 2 == 0 ? TEST_HIGH : TEST_LOW);
            CHECK(memcmp(want, got, m * n * sizeof *got) == 0, "%s %zux%zux%zu %s, turned %d", p->variant.name, m, n, k,
                  forms[form], turned);
        }
        test_memory_reset();
    }
}

int main(void)
{
    uint64_t random = 5;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        values[i] = test_float(&random);
    struct fovea_engine *const scalar = test_engine("scalar", NULL);
    for (uint32_t i = 0; i < fovea_engine_variants(scalar); i++) {
        struct fovea_variant variant;
        if (fovea_engine_variant(scalar, i, &variant) == FOVEA_OK && strcmp(variant.slot, "gemm") == 0)
            pin(&variant);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof steps / sizeof *steps; j++)
            for (size_t n = 1; n <= COLUMNS; n++)
                test_sizes(scalar, rows[i], n, steps[j]);
    for (size_t i = 0; i < pins; i++)
        fovea_engine_destroy(pinned[i].engine);
    fovea_engine_destroy(scalar);
    return test_done();
}
