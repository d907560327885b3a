// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_edge.c - products whose last columns have a kernel of their own, against the bits of the scalar
// engine: all numbers of such columns, every form of B, every kind of epilogue, sums that C cannot hold, rows around
// what is computed at once, rows of C that are longer than it, whole, task by task, and fewer rows than the plan's; and
// nothing beyond C.
#include "fovea/fovea.h"
#include "ops/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 101, COLUMNS = 56, DEPTH = 51, LDC = COLUMNS + 3, C_SIZE = ROWS * LDC };

static float a[ROWS * DEPTH], b[DEPTH * COLUMNS], bias[COLUMNS], residual[C_SIZE], c[2][C_SIZE];
static _Alignas(FOVEA_ALIGNMENT) float shared[1 << 16], scratch[1 << 18];
static _Alignas(FOVEA_ALIGNMENT) char blob[(COLUMNS + FOVEA_PANEL) * DEPTH * sizeof(float) + 4096];

/// The product in `to`; returns whether the last columns are separate.
static bool multiply(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc, size_t rows, bool by_tasks,
                     float *to)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    CHECK(fovea_gemm_plan(engine, desc, &plan) == FOVEA_OK, "plan");
    CHECK(plan.work.shared_bytes <= sizeof shared && plan.work.scratch_bytes <= sizeof scratch, "work");
    memset(scratch, 0x7f, sizeof scratch);
    memcpy(to, residual, sizeof residual);
    const struct fovea_gemm_args args = {.a = a,
                                         .b = desc->b_packed ? (const void *)blob : b,
                                         .c = to,
                                         .bias = desc->activation != FOVEA_ACTIVATION_NONE ? bias : NULL,
                                         .residual = !desc->residual          ? NULL
                                                     : desc->ldr == desc->ldc ? to
                                                                              : residual,
                                         .m = rows};
    if (!by_tasks) {
        CHECK(fovea_gemm(&plan, &args, shared, scratch, NULL) == FOVEA_OK, "gemm");
    } else {
        for (uint32_t phase = 0; phase < plan.work.phases; phase++)
            for (uint32_t task = fovea_gemm_tasks(&plan, &args, phase); task-- != 0;)
                CHECK(fovea_gemm_task(&plan, &args, shared, scratch, phase, task) == FOVEA_OK, "task");
    }
    return plan.edge != 0;
}

static struct fovea_gemm_desc desc_of(size_t m, size_t n, int form, int kind)
{
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = m, desc.n = n, desc.k = desc.lda = DEPTH, desc.ldc = LDC;
    desc.trans_b = form == 1 ? FOVEA_TRANS : FOVEA_NO_TRANS, desc.b_packed = form == 2;
    desc.ldb = form == 1 ? DEPTH : n;
    desc.beta = kind == 1 ? 0.5f : 0;
    desc.gated = kind == 2 && n % 2 == 0;
    desc.activation = kind == 3 ? FOVEA_ACTIVATION_GELU : kind >= 4 ? FOVEA_ACTIVATION_RELU : FOVEA_ACTIVATION_NONE;
    desc.residual = kind >= 5;
    desc.ldr = kind == 5 ? LDC : COLUMNS; // which is C itself, or another matrix
    return desc;
}

static void test(const struct fovea_engine *engine, const char *isa)
{
    static const size_t rows[] = {24, 25, 47, 48, 49, 96, ROWS};
    struct fovea_engine *const scalar = test_engine("scalar", NULL);
    size_t edges = 0;
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
        test_tuning(engine)->gemm[i].edge_columns = 8;
    for (size_t n = 33; n <= COLUMNS; n++) {
        for (int of = 0; of < 21; of++) {
            const size_t m = rows[(n + (size_t)of) % (sizeof rows / sizeof *rows)], less = of % 2 ? m : m - 1;
            const struct fovea_gemm_desc desc = desc_of(m, n, of % 3, of / 3);
            CHECK(fovea_pack(engine, FOVEA_NO_TRANS, DEPTH, n, b, n, blob, sizeof blob) == FOVEA_OK, "pack");
            multiply(scalar, &desc, less, false, c[0]);
            for (int by_tasks = 0; by_tasks < 2; by_tasks++) {
                edges += multiply(engine, &desc, less, by_tasks != 0, c[1]);
                CHECK(memcmp(c[0], c[1], sizeof *c) == 0,
                      "%s, %zux%zu, %zu rows, form %d, kind %d, by tasks %d: other bits", isa, m, n, less, of % 3,
                      of / 3, by_tasks);
            }
        }
    }
    CHECK(edges != 0, "%s: no product has an edge", isa);
    fovea_engine_destroy(scalar);
}

int main(void)
{
    test_plain_environment();
    setenv("FOVEA_CACHES", "32K,1M,32M,plain", 1);
    for (size_t i = 0; i < ROWS * DEPTH; i++)
        a[i] = (float)((int)(i * 7919 % 1009) - 504) / 256;
    for (size_t i = 0; i < DEPTH * COLUMNS; i++)
        b[i] = (float)((int)(i * 6007 % 997) - 498) / 256;
    for (size_t i = 0; i < C_SIZE; i++)
        residual[i] = (float)((int)(i * 5003 % 991) - 495) / 256;
    for (size_t i = 0; i < COLUMNS; i++)
        bias[i] = (float)i / 64 - 1;
    test_each_engine(test);
    return test_done();
}
