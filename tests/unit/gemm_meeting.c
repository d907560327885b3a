// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_meeting.c - the bits of the scalar path where rows of A or B, or of a transposed A, meet in few sets
// of a cache, where so few rows meet a natural B that they take a few of its rows at a time, and where few rows meet a
// small or a packed B: by the defaults of each kind of machine, on every ISA.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum way { NN, NT, PACKED, TN };

// Rows of 4 KiB, blocks of 512 steps and what is left, one tile and more; rows that are alone; fewest strips; lines
// that fill all ways of L2.
static const struct shape {
    size_t m, n, k, ld;
    enum way way;
} shapes[] = {
    {9, 1024, 520, 1024, NN},  {10, 1024, 520, 1024, NN}, {12, 1000, 1030, 1024, NN}, {13, 1024, 1030, 1024, NN},
    {28, 500, 1030, 2048, NN}, {1, 1000, 300, 0, PACKED}, {1, 40, 3000, 0, PACKED},   {2, 1000, 300, 0, PACKED},
    {1, 64, 100, 64, NN},      {5, 100, 60, 100, NN},     {3, 200, 100, 0, PACKED},   {4, 50, 40, 40, NT},
    {40, 48, 512, 512, TN},    {17, 40, 520, 1024, TN},   {16, 1024, 300, 1024, NN},  {64, 1024, 300, 1024, NN},
    {31, 999, 303, 999, NN},   {40, 96, 1024, 0, PACKED}, {20, 100, 2048, 0, PACKED}, {64, 128, 1024, 128, NN},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

struct operands {
    float *a, *b, *want, *got;
};
static struct operands all[SHAPES];
static size_t kind; // of machine: its number

static struct fovea_gemm_desc desc_of(const struct shape *s)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = s->m, d.n = d.ldc = s->n, d.k = s->k;
    d.trans_a = s->way == TN ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.trans_b = s->way == NT ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.lda = s->way == TN ? s->ld : s->k;
    d.ldb = s->way == PACKED ? s->n : s->ld;
    return d;
}

static float *numbers(size_t count)
{
    static uint64_t random = 29;
    float *const x = test_floats(count, TEST_HIGH);
    for (size_t i = 0; i < count; i++)
        x[i] = test_float(&random);
    return x;
}

static void compute_want(const struct fovea_engine *scalar)
{
    for (size_t i = 0; i < SHAPES; i++) {
        const struct shape *const s = &shapes[i];
        const struct fovea_gemm_desc d = desc_of(s);
        all[i].a = numbers(s->way == TN ? s->k * d.lda : s->m * d.lda);
        all[i].b = numbers(s->way == NT ? s->n * d.ldb : s->k * d.ldb);
        all[i].want = test_floats(s->m * s->n, TEST_HIGH);
        all[i].got = test_floats(s->m * s->n, TEST_HIGH);
        const struct fovea_gemm_args args = {.a = all[i].a, .b = all[i].b, .c = all[i].want, .m = s->m};
        CHECK(fovea_gemm_once(scalar, &d, &args) == FOVEA_OK, "the scalar path, shape %zu", i);
    }
}

// Under an emulator each shape meets half of the kinds, and not the scalar path again.
static void test_engine_of(const struct fovea_engine *engine, const char *isa)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    if (small && strcmp(isa, test_isas[0]) == 0)
        return;
    for (size_t i = 0; i < SHAPES; i++) {
        if (small && (i + kind) % 2 != 0)
            continue;
        const struct shape *const s = &shapes[i];
        struct fovea_gemm_desc d = desc_of(s);
        struct fovea_gemm_args args = {.a = all[i].a, .b = all[i].b, .c = all[i].got, .m = s->m};
        if (s->way == PACKED)
            d.b_packed = 1, args.b = test_pack(engine, FOVEA_NO_TRANS, s->k, s->n, all[i].b, d.ldb);
        memset(all[i].got, 0xff, s->m * s->n * sizeof(float));
        char text[FOVEA_EXPLAIN_BYTES] = "";
        fovea_explain_gemm(engine, &d, text, sizeof text);
        CHECK(fovea_gemm_once(engine, &d, &args) == FOVEA_OK &&
                  memcmp(all[i].got, all[i].want, s->m * s->n * sizeof(float)) == 0,
              "%s, %s: %s", getenv("FOVEA_CACHES"), isa, text);
    }
}

/// A product, and the kinds of machines on which explaining it is to say something, by AVX2 and by AVX-512.
struct says {
    size_t m, n, k;
    const char *avx2, *avx512;
};

static void test_says(const struct fovea_engine *engine, const char *isa, bool turned, const char *what,
                      const struct says *cases, size_t count)
{
    const char *const caches = getenv("FOVEA_CACHES"), *const name = strrchr(caches, ',') + 1;
    const bool avx512 = strcmp(isa, "avx512") == 0;
    for (size_t i = 0; i < count && (avx512 || strcmp(isa, "avx2") == 0); i++) {
        struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
        d.m = cases[i].m, d.n = d.ldc = cases[i].n, d.k = d.lda = cases[i].k;
        d.trans_b = turned ? FOVEA_TRANS : FOVEA_NO_TRANS, d.ldb = turned ? d.k : d.n;
        char text[FOVEA_EXPLAIN_BYTES] = "";
        CHECK(fovea_explain_gemm(engine, &d, text, sizeof text) == FOVEA_OK, "%zu rows", d.m);
        const bool expected = strstr(avx512 ? cases[i].avx512 : cases[i].avx2, name) != NULL;
        CHECK((strstr(text, what) != NULL) == expected, "%s: %s", caches, text);
    }
}

/// On a mesh whole rows of a natural B are read by up to 64 rows, by AVX2 by up to 96, and by 32 where they are no
/// whole lines; elsewhere by few, and where they meet in few sets not by rows that one tile takes.
static void test_way(const struct fovea_engine *engine, const char *isa)
{
    static const struct says ways[] = {
        {4, 2048, 3000, "plain wide mesh", "plain mesh"},
        {5, 2048, 3000, "plain mesh", "mesh"},
        {9, 2048, 3000, "plain mesh", "mesh"},
        {9, 2064, 3000, "plain mesh", "plain mesh"},
        {10, 2048, 3000, "plain mesh", "plain mesh"},
        {14, 2048, 3000, "plain mesh", "plain mesh"},
        {16, 2048, 3000, "plain mesh", "mesh"},
        {64, 2048, 3000, "plain mesh", "mesh"},
        {65, 2048, 3000, "mesh", ""},
        {96, 2048, 3000, "mesh", ""},
        {97, 2048, 3000, "", ""},
        {32, 2004, 3000, "plain mesh", "mesh"},
        {33, 2004, 3000, "", ""},
        {64, 2000, 3000, "plain mesh", "mesh"},
        {16, 1 << 16, 3000, "plain mesh", "mesh"},
        {17, 1 << 16, 3000, "plain mesh", "mesh"},
    };
    test_says(engine, isa, false, "a few rows at a time", ways, sizeof ways / sizeof *ways);
}

/// Rows of a natural B that begin within lines are packed by 64 rows and more on Intel's, with AVX-512 on a mesh by 72
/// (pack_rows) and only where B has more than 48 KiB; elsewhere, and by AVX2 on a mesh, by none of these.
static void test_broken(const struct fovea_engine *engine, const char *isa)
{
    static const struct says packed[] = {
        {63, 130, 130, "", ""},
        {64, 110, 110, "hashed", "hashed"},
        {150, 110, 110, "hashed", "hashed"},
        {71, 111, 111, "hashed", "hashed"},
        {72, 111, 111, "hashed", "hashed mesh"},
        {100, 111, 111, "hashed", "hashed mesh"},
        {72, 112, 112, "", ""},
    };
    test_says(engine, isa, false, "B packed", packed, sizeof packed / sizeof *packed);
}

/// A transposed B is read in place by the rows of one tile, on Zen 4 by some more, but not where its rows alias.
static void test_transposed(const struct fovea_engine *engine, const char *isa)
{
    static const struct says rows[] = {
        {16, 2048, 3000, "", "plain wide hashed mesh"},
        {17, 2048, 3000, "", "plain"},
        {21, 2048, 3000, "", "plain"},
        {22, 2048, 3000, "", ""},
        {16, 2048, 3072, "", "plain wide hashed mesh"},
        {17, 2048, 3072, "", ""},
    };
    test_says(engine, isa, true, "rows of B in place", rows, sizeof rows / sizeof *rows);
}

int main(void)
{
    static const char *const kinds[] = {"plain", "wide", "hashed", "mesh"};
    struct fovea_engine *const scalar = test_engine("scalar", NULL);
    compute_want(scalar);
    fovea_engine_destroy(scalar);
    for (kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        char caches[32];
        snprintf(caches, sizeof caches, "48K,1M,32M,%s", kinds[kind]);
        setenv("FOVEA_CACHES", caches, 1);
        test_each_engine(test_engine_of);
        test_each_engine(test_way);
        test_each_engine(test_broken);
        test_each_engine(test_transposed);
    }
    return test_done();
}
