// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_steps.c - whole rows of a natural B, a few at a time, for more rows of C than sums have registers,
// several workers and more columns than one pass takes: the bits of the scalar tiles, whatever becomes of the sums.
// And calls of few rows under a plan for so many that it has tiles: they are computed so, too.
#include "fovea/fovea.h"
#include "ops/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

#include <stdbool.h>
#include <string.h>

enum { N = 1608, K = 37, ROWS = 96, BATCH = 2, WORKERS = 3 };

// What becomes of the sums, and how A lies.
static const struct end {
    const char *name;
    float alpha, beta;
    enum fovea_activation activation;
    bool residual, in_place, gated, bias, turned;
} ends[] = {
    {.name = "plain", .alpha = 1},
    {.name = "bias and GELU", .alpha = 1, .activation = FOVEA_ACTIVATION_GELU, .bias = true},
    {.name = "beta, A transposed", .alpha = 1.5f, .beta = 0.5f, .turned = true},
    {.name = "a residual", .alpha = 1, .residual = true},
    {.name = "a residual in place, A transposed", .alpha = 1, .residual = true, .in_place = true, .turned = true},
    {.name = "pairs, a residual", .alpha = 1, .activation = FOVEA_ACTIVATION_SILU, .gated = true, .residual = true},
};
static const uint8_t sizes[] = {1, 5, 8, 9, 16, 17, 33, 64, 96};

static struct {
    float a[BATCH * ROWS * K], b[BATCH * N * K + 32], bias[N], residual[BATCH * ROWS * N], before[BATCH * ROWS * N];
    float want[BATCH * ROWS * N], got[BATCH * ROWS * N];
} x;
static const float *from = x.b;

static void draw(float *memory, size_t count)
{
    static uint64_t random = 31;
    for (size_t i = 0; i < count; i++)
        memory[i] = test_float(&random);
}

static void set_numbers(const struct fovea_engine *engine, uint32_t rows)
{
    struct fovea_kernels *const kernels = (struct fovea_kernels *)fovea_engine_kernels(engine); // allocated
    kernels->workers = WORKERS;
    kernels->tuning.cache.near = 16; // KiB: every B here is far, and a pass of 64 rows has 512 columns
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &kernels->tuning.gemm[i];
        t->bn_rows = t->bn_alias = rows;
        t->bn_split = 0;
        t->direct = t->along = 0;
        t->alias_rows = 89, t->alias_kc = 512; // blocks that a plan for more rows has no room for the sums of
    }
}

static struct fovea_gemm_desc desc_of(const struct end *end, size_t m, size_t n)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = m, d.n = d.ldb = n, d.k = K;
    d.ldc = d.ldr = end->gated ? n / 2 : n;
    d.trans_a = end->turned ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.lda = end->turned ? ROWS : K;
    d.alpha = end->alpha, d.beta = end->beta, d.activation = end->activation;
    d.residual = end->residual, d.gated = end->gated;
    d.batch = BATCH;
    d.batch_a = (size_t)ROWS * K, d.batch_b = n * K, d.batch_c = d.batch_r = ROWS * d.ldc;
    return d;
}

static void run(const struct fovea_engine *engine, const struct end *end, const struct fovea_gemm_desc *d, size_t m,
                enum test_way way, float *c)
{
    memcpy(c, x.before, sizeof x.before);
    const struct fovea_gemm_args args = {
        .a = x.a,
        .b = from,
        .c = c,
        .bias = end->bias ? x.bias : NULL,
        .residual = !end->residual  ? NULL
                    : end->in_place ? c
                                    : x.residual,
        .m = m,
    };
    CHECK(test_run(&test_gemm, engine, d, &args, way, 7 + m) == FOVEA_OK, "%s, %zu rows", end->name, m);
    test_memory_reset();
}

static void check_way(const struct fovea_engine *engine, const char *isa, const struct end *end,
                      const struct fovea_gemm_desc *d)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    CHECK(fovea_gemm_plan(engine, d, &plan) == FOVEA_OK && plan.way == FOVEA_WAY_STEPS && !plan.grid.copy_a &&
              plan.work.phases == 1 && plan.work.shared_bytes == 0,
          "%s, %s, %zu rows: %u phases, %zu shared", isa, end->name, d->m, (unsigned)plan.work.phases,
          plan.work.shared_bytes);
}

// Calls of a plan for ROWS rows where up to STEP_ROWS go down B a few rows at a time.
enum { STEP_ROWS = 64, SPLIT_ROWS = 32 };
static const uint8_t calls[] = {0, 1, 8, 33, 64, 65};

static void check_few(struct fovea_engine *engine, const char *isa, const struct fovea_gemm_desc *d)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan, few;
    CHECK(fovea_gemm_plan(engine, d, &plan) == FOVEA_OK && plan.way == FOVEA_WAY_BLOCKS && plan.own_rows == ROWS,
          "%s: a plan for %zu rows", isa, d->m);
    for (size_t i = 1; i < sizeof calls; i++) {
        const size_t m = calls[i];
        CHECK(fovea_gemm_make_own(&plan, m, false, true, &few) && few.desc.m == m &&
                  (few.way == FOVEA_WAY_STEPS) == (m <= STEP_ROWS),
              "%s: a call of %zu rows", isa, m);
    }
    // Whatever the room for sums beside C, and however many columns pass, the plan has the memory of all such calls.
    static const uint32_t near[] = {16, 512, 1024, 2048, 3072};
    struct fovea_gemm_desc wide = *d;
    wide.n = wide.ldb = wide.batch_b = 8192, wide.ldc = wide.ldr = d->gated ? 4096 : 8192, wide.k = 600, wide.batch = 1;
    wide.trans_a = FOVEA_NO_TRANS, wide.lda = wide.k;
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        test_tuning(engine)->cache.near = near[i];
        CHECK(fovea_gemm_plan(engine, &wide, &plan) == FOVEA_OK && plan.own_rows == ROWS, "%s: a wide plan", isa);
        for (size_t m = 1; m <= ROWS; m++)
            CHECK(fovea_gemm_make_own(&plan, m, m % 2 != 0, true, &few), "%s: %zu rows, near %u", isa, m, near[i]);
    }
    test_tuning(engine)->cache.near = near[0];
    // A plan that computes C transposed has no room for sums beside C; nor do near products need a plan of their own.
    struct fovea_gemm_desc other = *d;
    other.n = other.ldb = other.ldc = other.ldr = 2;
    other.k = 30000, other.trans_a = FOVEA_NO_TRANS, other.lda = other.k, other.gated = 0, other.batch = 1;
    CHECK(fovea_gemm_plan(engine, &other, &plan) == FOVEA_OK && plan.own_rows == 0, "%s: two columns", isa);
    other.n = other.ldb = other.ldc = other.ldr = 16, other.k = other.lda = 16;
    CHECK(fovea_gemm_plan(engine, &other, &plan) == FOVEA_OK && plan.own_rows == 0, "%s: a B in L2", isa);
}

static void test_few(const struct fovea_engine *scalar, struct fovea_engine *const engines[TEST_ISAS])
{
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const struct end *const end = &ends[i];
        const struct fovea_gemm_desc d = desc_of(end, ROWS, N - 8); // rows of whole lines
        for (int e = 0; e < TEST_ISAS; e++) {
            if (engines[e] != NULL) {
                set_numbers(engines[e], STEP_ROWS);
                check_few(engines[e], test_isas[e], &d);
            }
        }
        for (size_t j = i % 2; j < sizeof calls; j += 2) {
            run(scalar, end, &d, calls[j], TEST_SERIAL, x.want);
            for (int e = 0; e < TEST_ISAS; e++) {
                for (enum test_way way = 0; way < TEST_WAYS && engines[e] != NULL; way++) {
                    run(engines[e], end, &d, calls[j], way, x.got);
                    CHECK(memcmp(x.want, x.got, sizeof x.got) == 0, "%s, %s, %u rows of a plan for %d, %s",
                          test_isas[e], end->name, calls[j], ROWS, test_way_names[way]);
                }
            }
        }
    }
}

// The same where such calls are those whose B begins within a cache line, whatever the plan's rows.
static void test_split(const struct fovea_engine *scalar, struct fovea_engine *const engines[TEST_ISAS])
{
    const float *const line = x.b + -((uintptr_t)x.b / sizeof *x.b) % FOVEA_PANEL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const struct fovea_gemm_desc d = desc_of(&ends[i], SPLIT_ROWS, N - 8);
        for (size_t within = 0; within <= 4; within += 4) {
            from = line + within;
            run(scalar, &ends[i], &d, SPLIT_ROWS, TEST_SERIAL, x.want);
            for (int e = 0; e < TEST_ISAS; e++) {
                if (engines[e] == NULL)
                    continue;
                static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan, own;
                set_numbers(engines[e], 0);
                for (size_t class = 0; class < FOVEA_GEMM_CLASSES; class ++)
                    test_tuning(engines[e])->gemm[class].bn_split = SPLIT_ROWS;
                CHECK(fovea_gemm_plan(engines[e], &d, &plan) == FOVEA_OK && plan.way == FOVEA_WAY_BLOCKS, "plan");
                CHECK(fovea_gemm_make_own(&plan, SPLIT_ROWS, within != 0, true, &own) &&
                          (own.way == FOVEA_WAY_STEPS) == (within != 0),
                      "%s, %s: %zu floats within a line", test_isas[e], ends[i].name, within);
                // Tasks may be counted with one B and run with another.
                const struct fovea_gemm_args
                    of_line = {.a = x.a, .b = line, .c = x.got, .residual = x.residual, .m = 1},
                    of_from = {.a = x.a, .b = from, .c = x.got, .residual = x.residual, .m = 1};
                CHECK(fovea_gemm_tasks(&plan, &of_line, 0) == fovea_gemm_tasks(&plan, &of_from, 0), "%s: tasks",
                      test_isas[e]);
                for (enum test_way way = 0; way < TEST_WAYS; way++) {
                    run(engines[e], &ends[i], &d, SPLIT_ROWS, way, x.got);
                    CHECK(memcmp(x.want, x.got, sizeof x.got) == 0, "%s, %s, %zu floats within a line, %s",
                          test_isas[e], ends[i].name, within, test_way_names[way]);
                }
            }
        }
    }
    from = x.b;
}

int main(void)
{
    draw(x.a, sizeof x.a / sizeof *x.a);
    draw(x.b, sizeof x.b / sizeof *x.b);
    draw(x.bias, N);
    draw(x.residual, sizeof x.residual / sizeof *x.residual);
    draw(x.before, sizeof x.before / sizeof *x.before);
    struct fovea_engine *const scalar = test_engine("scalar", NULL), *engines[TEST_ISAS];
    set_numbers(scalar, 0);
    test_engines(engines);
    for (int e = 0; e < TEST_ISAS; e++)
        if (engines[e] != NULL)
            set_numbers(engines[e], ROWS);
    // Under an emulator one end takes the sizes in even places, the next those in odd ones.
    const size_t step = getenv("FOVEA_TEST_SMALL") != NULL ? 2 : 1;
    _Static_assert(sizeof sizes % 2 == 1, "an even number: some sizes would be left out");
    for (size_t i = 0; i < sizeof sizes * (sizeof ends / sizeof *ends); i += step) {
        const struct end *const end = &ends[i / sizeof sizes];
        const size_t m = sizes[i % sizeof sizes], n = m % 2 == 0 ? 1024
                                                      : m > 32   ? N - 8
                                                                 : N; // rows of no whole lines for up to 32
        const struct fovea_gemm_desc d = desc_of(end, m, n);
        for (int e = 0; e < TEST_ISAS; e++)
            if (engines[e] != NULL)
                check_way(engines[e], test_isas[e], end, &d);
        for (size_t fewer = 0; fewer < 2 && fewer < m; fewer++) { // rows than the plan has
            run(scalar, end, &d, m - fewer, TEST_SERIAL, x.want);
            for (int e = 0; e < TEST_ISAS; e++) {
                for (enum test_way way = 0; way < TEST_WAYS && engines[e] != NULL; way++) {
                    run(engines[e], end, &d, m - fewer, way, x.got);
                    CHECK(memcmp(x.want, x.got, sizeof x.got) == 0, "%s, %s, %zu of %zu rows, %s", test_isas[e],
                          end->name, m - fewer, m, test_way_names[way]);
                }
            }
        }
    }
    test_few(scalar, engines);
    test_split(scalar, engines);
    test_engines_free(engines);
    fovea_engine_destroy(scalar);
    return test_done();
}
