// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_batch.c - a batch is its entries one by one, a gated GEMM is a plain one and a product, bit for bit.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/operator.h"
#include "tests/support/pack.h"
#include "tests/support/weights.h"
#include <stdbool.h>
#include <stdlib.h>

static float *clean(size_t floats)
{
    float *const x = test_floats(floats, TEST_HIGH);
    memset(x, 0, floats * sizeof *x);
    return x;
}

struct shape {
    size_t m, n, k, batch;
    int trans_a, trans_b;
};

static void run(const struct fovea_engine *engine, const struct fovea_gemm_desc *desc,
                const struct fovea_gemm_args *args, enum test_way way)
{
    const enum fovea_status status = test_run(&test_gemm, engine, desc, args, way, 7);
    CHECK(status == FOVEA_OK, "%s", fovea_status_string(status));
}

// beside: entries of C are columns of the same rows, as heads are, not behind one another.
static void test_batch(const struct fovea_engine *engine, const char *isa, const struct shape *s, bool beside)
{
    uint64_t rng = s->m * 31 + s->n;
    const size_t a_size = s->m * s->k + 3, b_size = s->k * s->n + 5;
    const size_t ldc = beside ? s->batch * (s->n + 1) - 1 : s->n, c_size = beside ? s->n + 1 : s->m * s->n + 7;
    const size_t floats = beside ? s->m * ldc + 1 : c_size * s->batch;
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = s->m, d.n = s->n, d.k = s->k;
    d.trans_a = s->trans_a ? FOVEA_TRANS : FOVEA_NO_TRANS, d.trans_b = s->trans_b ? FOVEA_TRANS : FOVEA_NO_TRANS;
    d.lda = s->trans_a ? s->m : s->k, d.ldb = s->trans_b ? s->k : s->n, d.ldc = ldc;
    const float *const a = test_some(a_size * s->batch, 1, &rng), *const b = test_some(b_size * s->batch, 1, &rng);
    float *const one = clean(floats), *const all = clean(floats);
    for (size_t e = 0; e < s->batch; e++) {
        const struct fovea_gemm_args args = {a + e * a_size, b + e * b_size, one + e * c_size, NULL, NULL, s->m};
        run(engine, &d, &args, TEST_SERIAL);
    }
    d.batch = s->batch, d.batch_a = a_size, d.batch_b = b_size, d.batch_c = c_size;
    for (int way = 0; way < TEST_WAYS; way++) {
        const struct fovea_gemm_args args = {a, b, all, NULL, NULL, s->m};
        run(engine, &d, &args, (enum test_way)way);
        CHECK_SAME(one, all, floats, "%s %s batch %zu%s of %zux%zux%zu", isa, test_way_names[way], s->batch,
                   beside ? " beside" : "", s->m, s->n, s->k);
    }
    test_memory_reset();
}

// Entries beside one another with all that an epilogue has, C being its own residual; packed: B, several k blocks.
static void test_beside(const struct fovea_engine *engine, const char *isa, size_t m, size_t n, size_t k, bool packed)
{
    enum { BATCH = 3 };
    uint64_t rng = m + n;
    const size_t ldc = BATCH * (n + 2);
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = m, d.n = d.ldb = n, d.k = d.lda = k, d.ldc = d.ldr = ldc;
    d.residual = 1, d.activation = FOVEA_ACTIVATION_SILU, d.beta = 0.5f;
    const float *const a = test_some(m * k * BATCH, 1, &rng), *const b = test_some(k * n, 1, &rng),
                       *const bias = test_some(n, 1, &rng);
    const float *const before = test_some(m * ldc, 1, &rng);
    float *const one = clean(m * ldc), *const all = clean(m * ldc);
    const void *const operand = packed ? test_pack(engine, FOVEA_NO_TRANS, k, n, b, n) : b;
    d.b_packed = packed;
    memcpy(one, before, m * ldc * sizeof *one);
    for (size_t e = 0; e < BATCH; e++) {
        float *const c = one + e * (n + 2);
        run(engine, &d, &(struct fovea_gemm_args){a + e * m * k, operand, c, bias, c, m}, TEST_SERIAL);
    }
    d.batch = BATCH, d.batch_a = m * k, d.batch_c = d.batch_r = n + 2;
    for (int way = 0; way < TEST_WAYS; way++) {
        memcpy(all, before, m * ldc * sizeof *all);
        run(engine, &d, &(struct fovea_gemm_args){a, operand, all, bias, all, m}, (enum test_way)way);
        CHECK_SAME(one, all, m * ldc, "%s %s beside one another, %zux%zux%zu", isa, test_way_names[way], m, n, k);
    }
    d.batch_r++;
    const struct fovea_gemm_args apart = {a, operand, all, bias, all, m};
    CHECK(fovea_gemm_once(engine, &d, &apart) == FOVEA_ERR_STRIDE, "%s: C is its residual, elsewhere", isa);
    test_memory_reset();
}

// A blob for each entry, with elements of any type, with sums that wait for an epilogue; few rows and many.
static void test_blobs(const struct fovea_engine *engine, const char *isa, enum fovea_type type, size_t m)
{
    enum { BATCH = 3, N = 150, K = 77, EACH = 2 * 16 * K * 160 }; // bytes, more than any of the blobs has
    uint64_t rng = m + type;
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = m, d.n = N, d.ldc = d.ldr = N / 2, d.k = d.lda = K, d.b_packed = d.gated = d.residual = 1, d.b_type = type;
    d.activation = FOVEA_ACTIVATION_SILU;
    const float *const a = test_some(m * K * BATCH, 1, &rng);
    float *const b = test_some(K * N * BATCH, 1, &rng);
    const float *const before = test_some(m * N / 2 * BATCH, 1, &rng);
    float *const one = clean(m * N / 2 * BATCH), *const all = clean(m * N / 2 * BATCH);
    char *const blobs = test_memory((size_t)EACH * BATCH, TEST_HIGH);
    for (size_t e = 0; e < BATCH; e++) {
        test_pack_as(engine, type, FOVEA_NO_TRANS, K, N, b + e * K * N, blobs + e * EACH, EACH);
        float *const c = memcpy(one + e * m * N / 2, before + e * m * N / 2, m * N / 2 * sizeof *c);
        run(engine, &d, &(struct fovea_gemm_args){a + e * m * K, blobs + e * EACH, c, NULL, c, m}, TEST_SERIAL);
    }
    d.batch = BATCH, d.batch_a = m * K, d.batch_b = EACH / sizeof(float), d.batch_c = d.batch_r = m * N / 2;
    for (int way = 0; way < TEST_WAYS; way++) {
        memcpy(all, before, m * N / 2 * BATCH * sizeof *all);
        run(engine, &d, &(struct fovea_gemm_args){a, blobs, all, NULL, all, m}, (enum test_way)way);
        const size_t at = test_differ(one, all, m * N / 2 * BATCH);
        CHECK(at == m * N / 2 * BATCH, "%s %s blobs of type %d, %zu rows: C[%zu]", isa, test_way_names[way], (int)type,
              m, at);
    }
    test_memory_reset();
}

static void test_gated(const struct fovea_engine *engine, const char *isa, enum fovea_transpose trans_b, size_t m,
                       size_t pairs, size_t k, enum fovea_activation act)
{
    uint64_t rng = m * 131 + pairs;
    const size_t n = 2 * pairs;
    const float *const a = test_some(m * k, 1, &rng), *const b = test_some(k * n, 1, &rng),
                       *const bias = test_some(n, 1, &rng);
    const float *const residual = test_some(m * pairs, 1, &rng);
    float *const plain = clean(m * n), *const gate = clean(m * n), *const want = clean(m * pairs);
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = m, d.n = d.ldc = n, d.k = d.lda = k;
    d.trans_b = trans_b, d.ldb = trans_b == FOVEA_TRANS ? k : n;
    run(engine, &d, &(struct fovea_gemm_args){a, b, plain, bias, NULL, m}, TEST_SERIAL);
    d.activation = act;
    run(engine, &d, &(struct fovea_gemm_args){a, b, gate, bias, NULL, m}, TEST_SERIAL);
    for (size_t i = 0; i < m * pairs; i++)
        want[i] = gate[2 * i] * plain[2 * i + 1] + residual[i];
    d.gated = d.residual = 1;
    d.ldc = d.ldr = pairs;
    for (int way = 0; way < TEST_WAYS; way++) {
        float *const c = clean(m * pairs);
        run(engine, &d, &(struct fovea_gemm_args){a, b, c, bias, residual, m}, (enum test_way)way);
        CHECK_SAME(want, c, m * pairs, "%s %s gated n%c %zux%zux%zu", isa, test_way_names[way],
                   trans_b == FOVEA_TRANS ? 't' : 'n', m, n, k);
    }
    test_memory_reset();
}

static void test_refused(const struct fovea_engine *engine)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    char text[FOVEA_EXPLAIN_BYTES];
    d.m = d.k = d.lda = 4, d.n = d.ldb = d.ldc = 7, d.gated = 1;
    CHECK(fovea_explain_gemm(engine, &d, text, sizeof text) == FOVEA_ERR_SHAPE, "odd n: %s", text);
    d.n = 6, d.beta = 1;
    CHECK(fovea_explain_gemm(engine, &d, text, sizeof text) == FOVEA_ERR_VALUE, "beta: %s", text);
    d.beta = 0, d.gated = 2;
    CHECK(fovea_explain_gemm(engine, &d, text, sizeof text) == FOVEA_ERR_ENUM, "gated 2: %s", text);
    d.gated = 0, d.batch = 2, d.batch_c = 4 * 7 - 2;
    CHECK(fovea_explain_gemm(engine, &d, text, sizeof text) == FOVEA_ERR_STRIDE, "entries of C overlap: %s", text);
    d.batch_c = 7, d.ldc = 12;
    CHECK(fovea_explain_gemm(engine, &d, text, sizeof text) == FOVEA_ERR_STRIDE, "a row is too short for two: %s",
          text);
    d.batch_c = 5, d.ldc = 20;
    CHECK(fovea_explain_gemm(engine, &d, text, sizeof text) == FOVEA_ERR_STRIDE, "columns are shared: %s", text);
    d.ldc = 7, d.batch = SIZE_MAX, d.batch_c = 4 * 7;
    CHECK(fovea_explain_gemm(engine, &d, text, sizeof text) == FOVEA_ERR_OVERFLOW, "batch: %s", text);
    d.batch = 2, d.b_packed = 1, d.batch_b = 4 * 6;
    CHECK(fovea_explain_gemm(engine, &d, text, sizeof text) == FOVEA_ERR_STRIDE, "blobs not on lines: %s", text);
    d.batch = 1;
    CHECK(fovea_explain_gemm(engine, &d, text, sizeof text) == FOVEA_OK, "one blob, whatever the stride: %s", text);
}

// Under an emulator sums are shorter, and each activation meets one layout of B.
int main(void)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    static const struct shape shapes[] = {
        {1, 17, 5, 3, 0, 0},    {16, 16, 16, 40, 0, 0},  {33, 50, 64, 12, 0, 1}, {7, 100, 30, 9, 1, 1},
        {64, 64, 512, 3, 1, 0}, {128, 130, 70, 5, 0, 0}, {0, 5, 5, 2, 0, 0},     {5, 5, 0, 2, 0, 0},
    };
    static const enum fovea_activation acts[] = {FOVEA_ACTIVATION_NONE, FOVEA_ACTIVATION_SILU, FOVEA_ACTIVATION_GELU};
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const engine = test_engine(test_isas[i], NULL);
        if (engine == NULL)
            continue;
        for (size_t j = 0; j < sizeof shapes / sizeof *shapes; j++)
            for (int beside = 0; beside <= 1; beside++)
                test_batch(engine, test_isas[i], &shapes[j], beside);
        for (int type = FOVEA_F32; type <= FOVEA_S8; type++)
            for (size_t m = 1; m <= 40; m += 13)
                test_blobs(engine, test_isas[i], (enum fovea_type)type, m);
        for (int packed = 0; packed <= 1; packed++) {
            test_beside(engine, test_isas[i], 1, 17, 40, packed);
            test_beside(engine, test_isas[i], 9, 50, 300, packed);
            test_beside(engine, test_isas[i], small ? 14 : 70, 33, 2100, packed);
        }
        for (size_t j = 0; j < sizeof acts / sizeof *acts; j++) {
            for (int trans = FOVEA_NO_TRANS; trans <= FOVEA_TRANS; trans++) {
                const enum fovea_transpose trans_b = (enum fovea_transpose)trans;
                if (small && j % 2 != (size_t)trans)
                    continue;
                test_gated(engine, test_isas[i], trans_b, 5, 1, 3, acts[j]);
                test_gated(engine, test_isas[i], trans_b, 1, 75, 33, acts[j]);
                test_gated(engine, test_isas[i], trans_b, 29, 37, 40, acts[j]);
                test_gated(engine, test_isas[i], trans_b, 12, 64, 1100, acts[j]);
                test_gated(engine, test_isas[i], trans_b, 29, 2, 40, acts[j]); // four columns apart, and after panels
                test_gated(engine, test_isas[i], trans_b, 40, 25, 50, acts[j]);
                test_gated(engine, test_isas[i], trans_b, 40, 28, 50, acts[j]);
            }
        }
        test_refused(engine);
        fovea_engine_destroy(engine);
    }
    return test_done();
}
