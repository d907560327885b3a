// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_first.c - a transposed B that the first rows of C pack for the others: the bits of C, against those
// over a blob, with every epilogue, all of k at once and in blocks, in groups of strips, with B kept and passed, and in
// calls of fewer rows than the plan's, whole and task by task; and nothing past its scratch.
#include "fovea/fovea.h"
#include "ops/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

enum { ROWS = 300, COLUMNS = 150, DEPTH = 290 };

static float a[ROWS * DEPTH], b[DEPTH * COLUMNS], c[ROWS * COLUMNS];
static _Alignas(FOVEA_ALIGNMENT) float shared[1 << 18], scratch[1 << 18];
static float other[ROWS * COLUMNS], tasks[ROWS * COLUMNS], residual[ROWS * COLUMNS], bias[COLUMNS];
static _Alignas(FOVEA_ALIGNMENT) char blob[(COLUMNS + FOVEA_PANEL) * DEPTH * sizeof(float) + 4096];

/// A product over a transposed B, and over a blob of it.
static void compare(const struct fovea_engine *engine, const char *isa, struct fovea_gemm_desc desc, size_t rows)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    const float *const from = desc.beta != 0 ? residual : NULL;
    for (int packed = 0; packed < 2; packed++) {
        float *const to = packed ? other : c;
        desc.b_packed = (uint32_t)packed;
        CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "plan");
        CHECK(plan.work.shared_bytes <= sizeof shared && plan.work.scratch_bytes <= sizeof scratch, "work");
        CHECK((plan.first_rows != 0) == (!packed && plan.kernels->gemm_bt.packs && plan.blocks.count == 1),
              "%s, packed %d: %zu first rows", isa, packed, plan.first_rows);
        memset(scratch, 0x7f, sizeof scratch);
        memset(shared, 0x7f, sizeof shared);
        for (size_t i = 0; i < ROWS * COLUMNS; i++)
            to[i] = from ? from[i] : NAN;
        const struct fovea_gemm_args args = {.a = a,
                                             .b = packed ? (const void *)blob : b,
                                             .c = to,
                                             .bias = desc.activation != FOVEA_ACTIVATION_NONE ? bias : NULL,
                                             .residual = desc.residual ? residual : NULL,
                                             .m = rows};
        CHECK(fovea_gemm(&plan, &args, shared, scratch, NULL) == FOVEA_OK, "gemm");
        size_t past = 0;
        for (size_t i = plan.work.scratch_bytes; i < sizeof scratch; i++)
            past += ((const char *)scratch)[i] != 0x7f;
        CHECK(past == 0, "%s, %zu rows: %zu bytes past the scratch of the plan are written", isa, rows, past);
        if (packed || desc.beta != 0)
            continue;
        // The same by tasks, the last one first: each packs its own strips, or a first phase packs all.
        memcpy(tasks, c, sizeof c);
        memset(c, 0x7f, sizeof c);
        for (uint32_t phase = 0; phase < plan.work.phases; phase++)
            for (uint32_t task = fovea_gemm_tasks(&plan, &args, phase); task-- != 0;)
                CHECK(fovea_gemm_task(&plan, &args, shared, scratch, phase, task) == FOVEA_OK, "task %u",
                      (unsigned)task);
        CHECK(memcmp(c, tasks, rows * desc.ldc * sizeof(float)) == 0, "%s, %zu rows: other bits by tasks", isa, rows);
    }
    CHECK(memcmp(c, other, rows * desc.ldc * sizeof(float)) == 0,
          "%s, %zu rows, A transposed %d, beta %g, gated %u, act %d: other bits", isa, rows, (int)desc.trans_a,
          (double)desc.beta, (unsigned)desc.gated, (int)desc.activation);
}

static void test_engine_of(const struct fovea_engine *engine, const char *isa)
{
    CHECK(fovea_pack(engine, FOVEA_TRANS, DEPTH, COLUMNS, b, DEPTH, blob, sizeof blob) == FOVEA_OK, "pack");
    static const size_t rows[] = {7, 16, 17, 40, 257, ROWS};
    for (int way = 0; way < 4; way++) { // all of k, and blocks; B kept, and passed
        const bool steps = way % 2, passes = way / 2;
        for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
            struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
            t->direct = t->along = 0, t->bt_rows = 0, t->turned_steps = 0;
            t->kc = steps ? 100 : 1000, t->nc = 96, t->pass_rows = passes ? ROWS : 0;
        }
        for (int kind = 0; kind < 12; kind++) {
            struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
            desc.m = ROWS, desc.n = COLUMNS, desc.k = desc.ldb = DEPTH, desc.trans_b = FOVEA_TRANS;
            desc.trans_a = kind % 2 ? FOVEA_TRANS : FOVEA_NO_TRANS, desc.lda = kind % 2 ? ROWS : DEPTH;
            desc.beta = kind / 2 == 1 ? 0.5f : 0;
            desc.gated = kind / 2 == 2;
            desc.activation = kind / 2 == 3   ? FOVEA_ACTIVATION_GELU
                              : kind / 2 >= 4 ? FOVEA_ACTIVATION_RELU
                                              : FOVEA_ACTIVATION_NONE;
            desc.residual = kind / 2 == 5;
            desc.ldc = desc.ldr = desc.gated ? COLUMNS / 2 : COLUMNS;
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                compare(engine, isa, desc, rows[i]);
        }
    }
}

/// Where the kernels for few rows are excluded but the scalar one, tiles are not kept waiting for that.
static void test_excluded(void)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    struct fovea_engine *engine = NULL;
    options.profile = "none";
    options.exclude = "gemm_bt_f32_avx512,gemm_bt_f32_avx2";
    if (fovea_engine_create(&options, &engine) != FOVEA_OK) {
        printf("skip excluded kernels: this build lacks them\n");
        return;
    }
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = ROWS, desc.n = desc.ldc = COLUMNS, desc.k = desc.lda = desc.ldb = DEPTH, desc.trans_b = FOVEA_TRANS;
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
        test_tuning(engine)->gemm[i].direct = 0;
    CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "plan");
    CHECK(plan.kernel->required == 0 || plan.first_rows == 0, "%zu first rows by %s", plan.first_rows,
          plan.kernels->gemm_bt.name);
    fovea_engine_destroy(engine);
}

int main(void)
{
    test_plain_environment();
    test_excluded();
    for (size_t i = 0; i < ROWS * DEPTH; i++)
        a[i] = (float)((int)(i * 7919 % 1009) - 504) / 256;
    for (size_t i = 0; i < DEPTH * COLUMNS; i++)
        b[i] = (float)((int)(i * 6007 % 997) - 498) / 256;
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        residual[i] = (float)((int)(i * 5003 % 991) - 495) / 256;
    for (size_t i = 0; i < COLUMNS; i++)
        bias[i] = (float)i / 64 - 1;
    test_each_engine(test_engine_of);
    return test_done();
}
