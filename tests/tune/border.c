// SPDX-License-Identifier: Apache-2.0
// tests/tune/border.c - the border of a profile between B in L2 and B beyond it, and that of attention: each changes
// what is planned, and no bit.
#include "dispatch/adopt.h"
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tune/cache.h"

#include <stdbool.h>

static struct fovea_profile profile;

// The border of a profile: it moves shapes from one class to another and changes what is fetched ahead, in GEMM and
// (its own number) in attention, and no bit.
static void test_border(void)
{
    static const uint32_t borders[] = {1, 29, 30, 1 << 20}; // B has 29.3 KiB
    enum { M = 5, N = 75, K = 100, DIM = 64, KEYS = 90 };
    struct fovea_engine *const scalar = test_engine("scalar", NULL), *plain = NULL;
    CHECK(!fovea_engine_create(NULL, &plain), "an engine");
    const struct fovea_machine *const machine = fovea_engine_machine(plain);
    float *const a = test_floats(M * K, TEST_HIGH), *const b = test_floats(N * K, TEST_HIGH);
    float *const want = test_floats(M * N, TEST_HIGH), *const got = test_floats(M * N, TEST_HIGH);
    float *const q = test_floats(DIM, TEST_HIGH), *const kv = test_floats(KEYS * DIM, TEST_HIGH);
    float *const out = test_floats(DIM, TEST_HIGH), *const right = test_floats(DIM, TEST_HIGH);
    uint64_t random = 17;
    for (size_t i = 0; i < M * K; i++)
        a[i] = test_float(&random);
    for (size_t i = 0; i < N * K; i++)
        b[i] = test_float(&random);
    for (size_t i = 0; i < DIM; i++)
        q[i] = test_float(&random);
    for (size_t i = 0; i < KEYS * DIM; i++)
        kv[i] = test_float(&random);
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = M, desc.n = desc.ldc = N, desc.k = desc.lda = desc.ldb = K, desc.trans_b = FOVEA_TRANS;
    struct fovea_gemm_args args = {.a = a, .b = b, .c = want, .m = M};
    struct fovea_attention_desc attend;
    fovea_attention_desc_init(&attend, sizeof attend);
    attend.batch = attend.heads = attend.kv_heads = attend.q_len = 1;
    attend.kv_len = KEYS, attend.qk_dim = attend.v_dim = DIM;
    attend.q = attend.k = attend.v = attend.out = (struct fovea_strides){0, 0, DIM};
    struct fovea_attention_args see = {
        .q = q, .k = kv, .v = kv, .out = right, .batch = 1, .q_len = 1, .kv_len = KEYS, .q_offset = KEYS - 1};
    CHECK(!fovea_gemm_once(scalar, &desc, &args) && !fovea_attention_once(scalar, &attend, &see), "the scalar path");
    args.c = got, see.out = out;
    for (size_t i = 0; i < sizeof borders / sizeof *borders; i++) {
        struct fovea_engine *engine = NULL;
        char gemm[FOVEA_EXPLAIN_BYTES] = "", attention[FOVEA_EXPLAIN_BYTES] = "";
        const int far = borders[i] < 30;
        profile.isa = machine->cpu;
        const uint32_t heads = fovea_attention_number(FOVEA_HEADS_64);
        profile.has[FOVEA_CLASS_CACHE] = profile.has[heads] = 1;
        profile.tuned[FOVEA_CLASS_CACHE] = (struct fovea_tuned){-1, {16 * borders[i]}}; // few rows, transposed
        profile.tuned[heads] = (struct fovea_tuned){-1, {48, 16, 16, 4, 0, borders[i]}};
        CHECK(!fovea_engine_create_with(NULL, &profile, &engine), "border %u", borders[i]);
        const struct fovea_tuning *const tuning = &fovea_engine_kernels(engine)->tuning;
        const uint32_t class = fovea_gemm_number(fovea_gemm_class(tuning, M, N, K, FOVEA_FORM_NT));
        CHECK(strcmp(fovea_class_names[class].name, far ? "few-far-nt" : "few-near-nt") == 0, "border %u: %s",
              borders[i], fovea_class_names[class].name);
        fovea_explain_gemm(engine, &desc, gemm, sizeof gemm);
        const bool streams = strstr(gemm, "fetched") || strstr(gemm, "far apart");
        CHECK(!strstr(gemm, "rows of B in place") || streams == (far != 0), "border %u: %s", borders[i], gemm);
        fovea_explain_attention(engine, &attend, attention, sizeof attention); // K and V have 45 KiB
        CHECK(!strstr(attention, "from beyond L2") == (borders[i] > 30), "border %u: %s", borders[i], attention);
        memset(got, 0xff, M * N * sizeof *got);
        memset(out, 0xff, DIM * sizeof *out);
        CHECK(!fovea_gemm_once(engine, &desc, &args) && !fovea_attention_once(engine, &attend, &see), "border %u",
              borders[i]);
        CHECK_SAME(want, got, M * N, "border %u, a product", borders[i]);
        CHECK_SAME(right, out, DIM, "border %u, attention", borders[i]);
        fovea_engine_destroy(engine);
    }
    fovea_engine_destroy(plain);
    fovea_engine_destroy(scalar);
    test_memory_reset();
}

// What is measured is one of the values worth trying, or none of them.
static void test_measured(void)
{
    uint32_t count;
    const struct fovea_tunable *const border = fovea_tunables(FOVEA_TUNED_CACHE, &count);
    const size_t bytes = tune_measure_l2();
    bool known = bytes == 0;
    for (uint32_t i = 0; i < border->count; i++)
        known |= bytes == (size_t)border->values[i] << 10;
    CHECK(count == 1 && known, "%zu bytes stay in L2", bytes);
}

// More is believed from twice as much on, less never, and nothing makes what was found before smaller.
static void test_believed(void)
{
    static const struct {
        uint32_t reported, kept;
        size_t measured;
        uint32_t believed;
    } cases[] = {{1024, 0, 2048, 2048},    {1024, 0, 2047, 0},       {1024, 0, 0, 0},          {1024, 0, 512, 0},
                 {1024, 4096, 2048, 4096}, {1024, 2048, 4096, 4096}, {1024, 1536, 1024, 1536}, {1024, 1536, 0, 1536}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t got = tune_believed_l2(cases[i].reported, cases[i].kept, cases[i].measured);
        CHECK(got == cases[i].believed, "case %zu: %u", i, got);
    }
}

int main(void)
{
    setenv("FOVEA_PROFILE", "none", 1);
    test_border();
    test_measured();
    test_believed();
    return test_done();
}
