// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_first.c - a B that the first rows of C pack for the others: transposed, against the bits over a blob
// of it, or a blob of smaller elements, against those of row after row; with every epilogue, all of k at once and in
// blocks, in groups of strips, with B kept and passed, and in calls of fewer rows than the plan's, whole and task by
// task; and nothing past its scratch. FOVEA_TEST_SMALL=1 leaves out half of the numbers of rows, for emulators.
#include "fovea/fovea.h"
#include "ops/gemm.h"
#include "ops/pack.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300, COLUMNS = 150, DEPTH = 290 };

static float a[ROWS * DEPTH], b[DEPTH * COLUMNS], c[ROWS * COLUMNS];
static _Alignas(FOVEA_ALIGNMENT) float shared[1 << 18], scratch[1 << 18];
static float other[ROWS * COLUMNS], tasks[ROWS * COLUMNS], residual[ROWS * COLUMNS], bias[COLUMNS];
static _Alignas(FOVEA_ALIGNMENT) char blob[(COLUMNS + FOVEA_PANEL) * DEPTH * sizeof(float) + 4096];

static const float *residual_of(const struct fovea_gemm_desc *desc)
{
    return desc->residual ? residual : NULL;
}

/// A call of a plan, task by task, the last one first: each packs its own strips, or a first phase packs all.
static void run_tasks(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args)
{
    for (uint32_t phase = 0; phase < plan->work.phases; phase++)
        for (uint32_t task = fovea_gemm_tasks(plan, args, phase); task-- != 0;)
            CHECK(fovea_gemm_task(plan, args, shared, scratch, phase, task) == FOVEA_OK, "task %u", (unsigned)task);
}

/// The product in `to`, and whether the plan has first rows.
static bool multiply(const struct fovea_engine *engine, const char *isa, const struct fovea_gemm_desc *desc,
                     size_t rows, float *to)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    CHECK(fovea_gemm_plan(engine, desc, &plan) == FOVEA_OK, "plan");
    CHECK(plan.work.shared_bytes <= sizeof shared && plan.work.scratch_bytes <= sizeof scratch, "work");
    memset(scratch, 0x7f, sizeof scratch);
    memset(shared, 0x7f, sizeof shared);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        to[i] = desc->beta != 0 ? residual[i] : NAN;
    const struct fovea_gemm_args args = {.a = a,
                                         .b = desc->b_packed ? (const void *)blob : b,
                                         .c = to,
                                         .bias = desc->activation != FOVEA_ACTIVATION_NONE ? bias : NULL,
                                         .residual = residual_of(desc),
                                         .m = rows};
    CHECK(fovea_gemm(&plan, &args, shared, scratch, NULL) == FOVEA_OK, "gemm");
    size_t past = 0;
    for (size_t i = plan.work.scratch_bytes; i < sizeof scratch; i++)
        past += ((const char *)scratch)[i] != 0x7f;
    CHECK(past == 0, "%s, %zu rows: %zu bytes past the scratch of the plan are written", isa, rows, past);
    if (plan.first_rows != 0 && desc->beta == 0) {
        memcpy(tasks, to, sizeof tasks);
        memset(to, 0x7f, sizeof tasks);
        run_tasks(&plan, &args);
        CHECK(memcmp(to, tasks, rows * desc->ldc * sizeof(float)) == 0, "%s, %zu rows: other bits by tasks", isa, rows);
    }
    const bool packs = desc->b_type == FOVEA_F32
                           ? !desc->b_packed && plan.kernels->gemm_bt.packs
                           : fovea_few_of(plan.kernels, desc->b_type)->packs && desc->m > plan.once_rows;
    const size_t mr = desc->b_type == FOVEA_F32 ? 1 : fovea_few_of(plan.kernels, desc->b_type)->mr;
    const bool whole = desc->b_type != FOVEA_S8 || plan.blocks.count == 1 || plan.unit == FOVEA_GROUP; // groups
    CHECK((plan.first_rows != 0) == (packs && whole && mr <= FOVEA_HOT_TILES * plan.mr),
          "%s, type %d, packed %u: %zu first rows", isa, (int)desc->b_type, (unsigned)desc->b_packed, plan.first_rows);
    char text[FOVEA_EXPLAIN_BYTES];
    fovea_explain_gemm(engine, desc, text, sizeof text);
    CHECK((strstr(text, "the first rows, which pack B, by gemm_") != NULL) == (plan.first_rows != 0), "%s: %s", isa,
          text);
    return plan.first_rows != 0;
}

/// The same by a call for each row.
static void multiply_rows(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc, size_t rows, float *to)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    struct fovea_gemm_desc one = *desc;
    one.m = 1;
    CHECK(fovea_gemm_plan(engine, &one, &plan) == FOVEA_OK, "plan");
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        to[i] = desc->beta != 0 ? residual[i] : NAN;
    for (size_t i = 0; i < rows; i++) {
        const struct fovea_gemm_args args = {.a = a + i * (desc->trans_a == FOVEA_TRANS ? 1 : desc->lda),
                                             .b = blob,
                                             .c = to + i * desc->ldc,
                                             .bias = desc->activation != FOVEA_ACTIVATION_NONE ? bias : NULL,
                                             .residual = desc->residual ? residual + i * desc->ldr : NULL,
                                             .m = 1};
        CHECK(fovea_gemm(&plan, &args, shared, scratch, NULL) == FOVEA_OK, "gemm");
    }
}

/// All of k, or blocks; B kept, or passed.
static void choose(const struct fovea_engine *engine, bool blocks, bool passes)
{
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
        t->direct = t->along = 0, t->bt_rows = 0, t->turned_steps = 0;
        t->kc = !blocks ? 1000 : passes ? 128 : 100, t->nc = 96, t->pass_rows = passes ? ROWS : 0;
    }
}

/// Products that may have first rows, against another way to them. Returns how many have first rows.
static size_t compare(const struct fovea_engine *engine, const char *isa, struct fovea_gemm_desc desc)
{
    static const size_t rows[] = {7, 16, 17, 40, 257, ROWS};
    const bool f32 = desc.b_type == FOVEA_F32;
    const size_t count = sizeof rows / sizeof *rows - (f32 ? 0 : 2); // the others are what more rows of f32 are
    const size_t step = getenv("FOVEA_TEST_SMALL") != NULL ? 2 : 1;
    size_t first = 0;
    desc.b_packed = 1;
    choose(engine, false, false);
    if (f32)
        multiply(engine, isa, &desc, rows[count - 1], other);
    else
        multiply_rows(engine, &desc, rows[count - 1], other);
    desc.b_packed = !f32;
    for (int way = 0; way < 4; way++) {
        choose(engine, way % 2, way / 2);
        for (size_t i = step - 1; i < count; i += step) {
            first += multiply(engine, isa, &desc, rows[i], c);
            CHECK(memcmp(c, other, rows[i] * desc.ldc * sizeof(float)) == 0,
                  "%s, type %d, way %d, %zu rows, A transposed %d, beta %g, gated %u, act %d: other bits", isa,
                  (int)desc.b_type, way, rows[i], (int)desc.trans_a, (double)desc.beta, (unsigned)desc.gated,
                  (int)desc.activation);
        }
    }
    return first;
}

/// Packs B as elements of a type; those of 16 bits are the upper halves of f32, whatever that is as a number.
static void pack(const struct fovea_engine *engine, enum fovea_type type)
{
    static uint16_t halves[DEPTH * COLUMNS];
    for (size_t i = 0; i < DEPTH * COLUMNS; i++) {
        uint32_t bits;
        memcpy(&bits, &b[i], sizeof bits);
        halves[i] = (uint16_t)(bits >> 16);
    }
    const bool half = type == FOVEA_BF16 || type == FOVEA_F16;
    const void *const from = half ? (const void *)halves : b;
    CHECK((type == FOVEA_S8 ? fovea_pack_s8(engine, FOVEA_F32, FOVEA_TRANS, DEPTH, COLUMNS, b, DEPTH, blob, sizeof blob)
                            : fovea_pack_typed(engine, type, FOVEA_TRANS, DEPTH, COLUMNS, from, DEPTH, blob,
                                               sizeof blob)) == FOVEA_OK,
          "pack");
}

/// Few steps of a transposed B of f32 are packed first, those of smaller elements are not.
static void test_brief(const struct fovea_engine *engine, const char *isa)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    choose(engine, false, false);
    for (size_t k = 55; k <= 56; k++) {
        for (int half = 0; half < 2; half++) {
            struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
            desc.m = ROWS, desc.n = desc.ldc = COLUMNS, desc.k = desc.lda = desc.ldb = k, desc.trans_b = FOVEA_TRANS;
            desc.b_type = half != 0 ? FOVEA_BF16 : FOVEA_F32, desc.b_packed = half != 0;
            CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK, "plan");
            const bool first =
                half != 0 ? kernels->gemm_bf16.packs && strcmp(isa, "scalar") != 0 : kernels->gemm_bt.packs && k > 55;
            CHECK((plan.first_rows != 0) == first, "%s, %zu steps, %d: %zu first rows", isa, k, half, plan.first_rows);
        }
    }
}

static void test_engine_of(const struct fovea_engine *engine, const char *isa)
{
    static const enum fovea_type types[] = {FOVEA_F32, FOVEA_BF16, FOVEA_F16, FOVEA_S8};
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    test_brief(engine, isa);
    for (size_t type = 0; type < sizeof types / sizeof *types; type++) {
        size_t first = 0;
        pack(engine, types[type]);
        for (int kind = 0; kind < 12; kind++) {
            struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
            desc.b_type = types[type];
            desc.m = ROWS, desc.n = COLUMNS, desc.k = desc.ldb = DEPTH, desc.trans_b = FOVEA_TRANS;
            desc.trans_a = kind % 2 ? FOVEA_TRANS : FOVEA_NO_TRANS, desc.lda = kind % 2 ? ROWS : DEPTH;
            desc.beta = kind / 2 == 1 ? 0.5f : 0;
            desc.gated = kind / 2 == 2;
            desc.activation = kind / 2 == 3   ? FOVEA_ACTIVATION_GELU
                              : kind / 2 >= 4 ? FOVEA_ACTIVATION_RELU
                                              : FOVEA_ACTIVATION_NONE;
            desc.residual = kind / 2 == 5;
            desc.ldc = desc.ldr = desc.gated ? COLUMNS / 2 : COLUMNS;
            first += compare(engine, isa, desc);
        }
        const bool packs =
            types[type] == FOVEA_F32 ? kernels->gemm_bt.packs : fovea_few_of(kernels, types[type])->packs;
        const bool room = strcmp(isa, "scalar") != 0 || types[type] == FOVEA_F32; // its 12 rows are three tiles
        CHECK((first != 0) == (packs && room), "%s, type %d: %zu have first rows", isa, (int)types[type], first);
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
