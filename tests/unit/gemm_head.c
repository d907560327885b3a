// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_head.c - few rows over a transposed B, and few columns over an A, whose rows are in one set of L1 and
// begin anywhere in a cache line: the bits of the scalar path; and which of them have steps before the first line.
#include "fovea/fovea.h"
#include "ops/gemm_follow.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <string.h>

enum { LINES = 37, LD_MOST = 2048, K_MOST = 100, FEW_MOST = 17 };

static _Alignas(FOVEA_ALIGNMENT) float many[LINES * LD_MOST + FOVEA_LINE];
static float few[FEW_MOST * K_MOST], want[FEW_MOST * LINES], got[FEW_MOST * LINES];

// C of m x n: the few rows against the many, or, turned, the many against the few.
static void multiply(const struct fovea_engine *engine, bool turned, size_t rows, size_t k, size_t ld, size_t place,
                     float *c)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = turned ? LINES : rows, d.n = d.ldc = turned ? rows : LINES, d.k = k;
    d.lda = turned ? ld : k, d.ldb = turned ? k : ld, d.trans_b = FOVEA_TRANS;
    const struct fovea_gemm_args args = {
        .a = turned ? many + place : few, .b = turned ? few : many + place, .c = c, .m = d.m};
    memset(c, 0x7f, sizeof want);
    CHECK(fovea_gemm_once(engine, &d, &args) == FOVEA_OK, "%zu rows, k %zu, ld %zu, place %zu", rows, k, ld, place);
}

// Prefetches of each kind; rows side by side, or far apart.
static void set_numbers(const struct fovea_engine *engine, size_t draw)
{
    for (size_t i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const t = &test_tuning(engine)->gemm[i];
        t->direct = 0;
        t->fetch_k = (uint32_t)(draw % 2 * K_MOST);
        t->twice = draw / 2 % 2;
        t->into_l1 = draw / 4 % 2;
        t->spread = (uint32_t)(draw / 8 % 2) << 20;
    }
}

static void test_isa(const struct fovea_engine *engine, const char *isa)
{
    static const size_t lds[] = {1000, 1024, LD_MOST}, places[] = {0, 1, 4, 15}, ks[] = {1, 12, 13, K_MOST};
    struct fovea_engine *const scalar = test_engine("scalar", NULL);
    test_tuning(engine)->cache.near = 1; // KiB
    for (size_t l = 0; l < sizeof lds / sizeof *lds; l++)
        for (size_t p = 0; p < sizeof places / sizeof *places; p++)
            for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
                for (size_t rows = 1; rows <= FEW_MOST; rows++)
                    for (int turned = 0; turned < 2; turned++) {
                        set_numbers(engine, l + rows);
                        multiply(scalar, turned, rows, ks[i], lds[l], places[p], want);
                        multiply(engine, turned, rows, ks[i], lds[l], places[p], got);
                        CHECK(memcmp(want, got, sizeof want) == 0, "%s, %zu %s, k %zu, ld %zu, %zu floats in a line",
                              isa, rows, turned ? "columns" : "rows", ks[i], lds[l], places[p]);
                    }
    fovea_engine_destroy(scalar);
}

int main(void)
{
    test_plain_environment();
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        many[i] = (float)((int)(i * 6007 % 997) - 498) / 256;
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        few[i] = (float)((int)(i * 7919 % 1009) - 504) / 256;
    CHECK(fovea_gemm_head(1024, 100, many, 1) == 0 && fovea_gemm_head(1024, 100, many + 4, 1) == 12, "one row");
    CHECK(fovea_gemm_head(2048, 100, many + 15, 16) == 1 && fovea_gemm_head(1024, 13, many + 4, 4) == 12, "more rows");
    CHECK(fovea_gemm_head(1024, 12, many + 4, 1) == 0, "no steps behind the first line");
    CHECK(fovea_gemm_head(1000, 100, many + 4, 1) == 0 && fovea_gemm_head(512, 100, many + 4, 1) == 0, "other rows");
    CHECK(fovea_gemm_head(1024, 100, many + 4, 2) == 0 && fovea_gemm_head(1024, 100, many + 4, 3) == 0, "two, three");
    test_each_engine(test_isa);
    return test_done();
}
