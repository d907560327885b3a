// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_aside.c - few rows over a few rows of a natural B at a time: which keep their sums in scratch,
// because C's rows meet in few sets of L1 or begin within lines; the bits of C wherever it begins, with and without an
// epilogue; and nothing past the scratch.
#include "fovea/fovea.h"
#include "ops/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

enum { ROWS = 14, COLUMNS = 1040, DEPTH = 37, PAD = 16 };

static _Alignas(FOVEA_ALIGNMENT) float a[ROWS * DEPTH], b[DEPTH * COLUMNS], scratch[1 << 18];
static _Alignas(FOVEA_ALIGNMENT) float c[PAD + ROWS * COLUMNS];
static float bias[COLUMNS];

/// C[i,j], as docs/numerics.md has it.
static float wanted(size_t n, size_t i, size_t j, bool relu)
{
    float sum = 0;
    for (size_t p = 0; p < DEPTH; p++)
        sum = fmaf(a[i * DEPTH + p], b[p * n + j], sum);
    sum = relu ? sum + bias[j] : sum;
    return relu && sum < 0 ? 0 : sum;
}

/// A product of a plan of m rows, whose C begins `at` floats behind a line. Returns whether its sums go to scratch.
static bool multiply(const struct fovea_engine *engine, const char *isa, size_t m, size_t n, size_t at, bool relu)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = m, desc.n = desc.ldb = desc.ldc = n, desc.k = desc.lda = DEPTH;
    desc.activation = relu ? FOVEA_ACTIVATION_RELU : FOVEA_ACTIVATION_NONE;
    CHECK(fovea_gemm_plan(engine, &desc, &plan) == FOVEA_OK && plan.way == FOVEA_WAY_STEPS, "%zu rows", m);
    CHECK(plan.work.scratch_bytes <= sizeof scratch && plan.work.shared_bytes == 0, "work");
    memset(scratch, 0x7f, sizeof scratch);
    memset(c, 0x7f, sizeof c);
    const struct fovea_gemm_args args = {.a = a, .b = b, .c = c + at, .bias = relu ? bias : NULL, .m = m};
    CHECK(fovea_gemm(&plan, &args, NULL, scratch, NULL) == FOVEA_OK, "gemm");
    size_t past = 0, wrong = 0, beside = 0;
    for (size_t i = plan.work.scratch_bytes; i < sizeof scratch; i++)
        past += ((const char *)scratch)[i] != 0x7f;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const float want = wanted(n, i, j, relu);
            wrong += memcmp(&want, c + at + i * n + j, sizeof want) != 0;
        }
    for (size_t i = 0; i < sizeof c; i++)
        beside += (i < at * sizeof *c || i >= (at + m * n) * sizeof *c) && ((const char *)c)[i] != 0x7f;
    CHECK(past == 0 && wrong == 0 && beside == 0, "%s, %zu rows, %zu columns, C at %zu: %zu bytes past, %zu wrong", isa,
          m, n, at, past + beside, wrong);
    return ((const char *)scratch)[0] != 0x7f;
}

static void test_engine_of(const struct fovea_engine *engine, const char *isa)
{
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
        t->direct = 0, t->bn_rows = t->bn_alias = ROWS;
    }
    static const size_t rows[] = {1, 2, 3, 7, 8, ROWS}, columns[] = {1024, COLUMNS, 1000}, places[] = {0, 4, 1};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t n = 0; n < sizeof columns / sizeof *columns; n++)
            for (size_t p = 0; p < sizeof places / sizeof *places; p++)
                for (int relu = 0; relu < 2; relu++) {
                    const bool meets = columns[n] == 1024, split = places[p] != 0 || columns[n] % 16 != 0;
                    const size_t m = rows[r], least = meets && split ? 3 : meets || split ? 8 : ROWS + 1;
                    const bool aside = multiply(engine, isa, m, columns[n], places[p], relu);
                    CHECK(aside == (m >= least), "%s, %zu rows, %zu columns, C at %zu: aside %d", isa, m, columns[n],
                          places[p], aside);
                }
}

int main(void)
{
    test_plain_environment();
    for (size_t i = 0; i < ROWS * DEPTH; i++)
        a[i] = (float)((int)(i * 7919 % 1009) - 504) / 256;
    for (size_t i = 0; i < DEPTH * COLUMNS; i++)
        b[i] = (float)((int)(i * 6007 % 997) - 498) / 256;
    for (size_t i = 0; i < COLUMNS; i++)
        bias[i] = (float)i / 64 - 1;
    test_each_engine(test_engine_of);
    return test_done();
}
