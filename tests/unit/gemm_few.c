// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_few.c - few rows of C over a packed B of f32, by the kernel made for them whatever this machine's
// defaults are, in plans for as many rows and for more: the bits of scalar tiles, whatever becomes of the sums. And
// rows for two tiles over smaller elements, which read a few columns after another.
#include "fovea/fovea.h"
#include "ops/facts.h"
#include "ops/gemm.h"
#include "ops/pack.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/pack.h"
#include "tests/support/test.h"
#include "tests/unit/gemm_ends.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 70, BATCH = 2 };

static const size_t plans[] = {1, 5, 16, 33, ROWS}, calls[] = {1, 2, 3, 6, 12, 16, 17};
static const struct {
    size_t n, k;
} sizes[] = {{8, 1}, {34, 130}, {100, 33}, {600, 67}, {50, 0}};

static fovea_gemm_few_fn *real;
static atomic_uint ran;

static void count(const struct fovea_gemm_few_tile *tile)
{
    atomic_fetch_add(&ran, 1);
    real(tile);
}

static float *drawn(size_t floats)
{
    static uint64_t random = 9;
    float *const x = test_floats(floats, TEST_HIGH);
    for (size_t i = 0; i < floats; i++)
        x[i] = test_float(&random);
    return x;
}

struct product {
    const struct end *end;
    size_t n, k, rows; // rows of the plan
    bool turned;
    const float *a, *bias, *residual, *before;
    const void *blobs;
    enum fovea_type type; // of their elements
    size_t blob;          // floats
};

// C of a call of m rows, behind which lie those that were there before.
static float *result(const struct fovea_engine *engine, const struct product *p, size_t m, enum test_way way)
{
    const size_t columns = p->end->gated ? p->n / 2 : p->n, floats = BATCH * p->rows * columns;
    float *const c = test_floats(floats, TEST_HIGH);
    memcpy(c, p->before, floats * sizeof *c);
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = p->rows, d.n = p->n, d.k = p->k, d.b_packed = 1, d.b_type = p->type, d.batch = BATCH;
    d.trans_a = p->turned ? FOVEA_TRANS : FOVEA_NO_TRANS, d.lda = p->turned ? p->rows : p->k;
    d.ldc = d.ldr = columns;
    d.alpha = p->end->alpha, d.beta = p->end->beta, d.activation = p->end->activation;
    d.residual = p->end->residual, d.gated = p->end->gated;
    d.batch_a = p->rows * p->k, d.batch_b = p->blob, d.batch_c = d.batch_r = p->rows * columns;
    const struct fovea_gemm_args args = {.a = p->a,
                                         .b = p->blobs,
                                         .c = c,
                                         .bias = p->end->bias ? p->bias : NULL,
                                         .residual = !p->end->residual  ? NULL
                                                     : p->end->in_place ? c
                                                                        : p->residual,
                                         .m = m};
    CHECK(test_run(&test_gemm, engine, &d, &args, way, m) == FOVEA_OK, "%s", p->end->name);
    return c;
}

// Whether a plan says that it is computed so.
static bool says(const struct fovea_engine *engine, const struct product *p)
{
    static _Alignas(FOVEA_ALIGNMENT) struct fovea_gemm_layout plan;
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    struct fovea_gemm_facts facts;
    d.m = p->rows, d.n = d.ldc = p->n, d.k = d.lda = p->k, d.b_packed = 1, d.b_type = p->type;
    CHECK(fovea_gemm_plan(engine, &d, &plan) == FOVEA_OK, "plan");
    fovea_gemm_facts(&plan, &facts);
    return facts.reads == FOVEA_READS_FEW;
}

static void test_product(const struct fovea_engine *scalar, const struct fovea_engine *engine, const char *isa,
                         const struct product *p)
{
    struct fovea_kernels *const kernels = (struct fovea_kernels *)fovea_engine_kernels(engine);
    const size_t most = kernels->gemm_few.mr, columns = p->end->gated ? p->n / 2 : p->n;
    CHECK(p->turned || p->k == 0 || says(engine, p) == (p->rows <= most), "%s: a plan of %zux%zux%zu", isa, p->rows,
          p->n, p->k);
    for (size_t i = 0; i < sizeof calls / sizeof *calls && calls[i] <= p->rows; i++) {
        const size_t m = calls[i];
        const float *const want = result(scalar, p, m, TEST_SERIAL);
        for (enum test_way way = 0; way < TEST_WAYS; way++) {
            if (m != p->rows && (i + p->n) % TEST_WAYS != way)
                continue;
            real = kernels->gemm_few.run;
            kernels->gemm_few.run = count;
            ran = 0;
            const float *const got = result(engine, p, m, way);
            kernels->gemm_few.run = real;
            CHECK(p->k == 0 || m > most || ran >= BATCH, "%s: %zu of %zux%zux%zu, %s, %s: by another", isa, m, p->rows,
                  p->n, p->k, p->end->name, test_way_names[way]);
            CHECK_SAME(want, got, BATCH * p->rows * columns, "%s %zu of %zux%zux%zu, %s, %s%s", isa, m, p->rows, p->n,
                       p->k, p->end->name, test_way_names[way], p->turned ? ", transposed A" : "");
        }
    }
}

static void test_size(const struct fovea_engine *scalar, const struct fovea_engine *engine, const char *isa, size_t n,
                      size_t k)
{
    const bool small = getenv("FOVEA_TEST_SMALL") != NULL;
    const size_t count_ends = sizeof ends / sizeof *ends;
    size_t bytes = 0;
    CHECK(fovea_pack_size(k, n, &bytes) == FOVEA_OK, "%zux%zu", k, n);
    for (size_t i = 0; i < sizeof plans / sizeof *plans * count_ends; i++) {
        const size_t plan = i / count_ends, end = i % count_ends, floats = BATCH * plans[plan] * n;
        if (small && (plan + end) % 3 != 0)
            continue;
        struct product p = {.end = &ends[end], .n = n, .k = k, .rows = plans[plan], .turned = (plan + end) % 2 != 0};
        char *const blobs = test_memory(BATCH * bytes, TEST_HIGH);
        for (size_t e = 0; e < BATCH; e++)
            CHECK(fovea_pack(engine, FOVEA_NO_TRANS, k, n, drawn(k * n), n, blobs + e * bytes, bytes) == FOVEA_OK,
                  "pack");
        p.blobs = blobs, p.blob = bytes / sizeof(float);
        p.a = drawn(BATCH * p.rows * k), p.bias = drawn(n), p.residual = drawn(floats), p.before = drawn(floats);
        test_product(scalar, engine, isa, &p);
        test_memory_reset();
    }
}

// Rows for two tiles, and an L2 of so few columns that there are several groups of them.
static void test_groups(const struct fovea_engine *scalar, const struct fovea_engine *engine, const char *isa,
                        enum fovea_type type)
{
    enum { N = 200, K = 80, GROUP = 32, GROUPS = (N + GROUP - 1) / GROUP, BYTES = 1 << 17 };
    struct fovea_kernels *const kernels = (struct fovea_kernels *)fovea_engine_kernels(engine);
    const uint32_t near = kernels->tuning.cache.near;
    struct fovea_gemm_few_kernel *const kernel = type == FOVEA_BF16 ? &kernels->gemm_bf16 : &kernels->gemm_s8;
    const size_t m = kernel->mr + 1;
    char *const blobs = test_memory(BATCH * BYTES, TEST_HIGH), *const wide = test_memory(BATCH * BYTES, TEST_HIGH);
    for (size_t e = 0; e < BATCH; e++) {
        float *const b = drawn(K * N);
        test_pack_as(engine, type, FOVEA_NO_TRANS, K, N, b, blobs + e * BYTES, BYTES);
        CHECK(!fovea_pack(engine, FOVEA_NO_TRANS, K, N, b, N, wide + e * BYTES, BYTES), "pack");
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t floats = BATCH * m * N;
        struct product p = {.end = &ends[i], .n = N, .k = K, .rows = m, .turned = i % 2 != 0};
        p.blobs = wide, p.blob = BYTES / sizeof(float);
        p.a = drawn(BATCH * m * K), p.bias = drawn(N), p.residual = drawn(floats), p.before = drawn(floats);
        const float *const want = result(scalar, &p, m, TEST_SERIAL);
        p.blobs = blobs, p.type = type;
        kernels->tuning.cache.near = 1; // KiB, of which half is less than two panels
        real = kernel->run;
        kernel->run = count;
        ran = 0;
        const float *const got = result(engine, &p, m, TEST_SERIAL);
        kernel->run = real;
        kernels->tuning.cache.near = near;
        CHECK(ran == 2 * GROUPS * BATCH, "%s, %s: %u tiles", isa, ends[i].name, (unsigned)ran);
        CHECK_SAME(want, got, BATCH * m * (ends[i].gated ? N / 2 : N), "%s, %s: groups of columns", isa, ends[i].name);
    }
    test_memory_reset();
}

// Where the kernel is excluded, or in quarantine, tiles are faster than the scalar one that is left, even of one row.
static void test_excluded(const struct fovea_engine *scalar, const struct fovea_engine *engine, const char *isa,
                          enum fovea_type type)
{
    enum { N = 100, K = 70, BYTES = 1 << 16 };
    struct fovea_gemm_few_kernel *const kernel =
        (struct fovea_gemm_few_kernel *)fovea_few_of(fovea_engine_kernels(engine), type);
    const struct fovea_gemm_few_kernel before = *kernel;
    char *const blobs = test_memory(BATCH * BYTES, TEST_HIGH);
    for (size_t e = 0; e < BATCH; e++)
        test_pack_as(engine, type, FOVEA_NO_TRANS, K, N, drawn(K * N), blobs + e * BYTES, BYTES);
    *kernel = *fovea_few_of(fovea_engine_kernels(scalar), type);
    for (size_t m = 1; m <= 5; m += 4) {
        struct product p = {.end = &ends[0], .n = N, .k = K, .rows = m, .type = type};
        p.blobs = blobs, p.blob = BYTES / sizeof(float);
        p.a = drawn(BATCH * m * K), p.bias = drawn(N), p.residual = drawn(BATCH * m * N),
        p.before = drawn(BATCH * m * N);
        CHECK(says(engine, &p) == (strcmp(isa, test_isas[0]) == 0), "%s, type %d: by the scalar kernel", isa,
              (int)type);
        const float *const want = result(scalar, &p, m, TEST_SERIAL), *const got = result(engine, &p, m, TEST_SERIAL);
        CHECK_SAME(want, got, BATCH * m * N, "%s, type %d: without the kernel", isa, (int)type);
    }
    *kernel = before;
    test_memory_reset();
}

int main(void)
{
    struct fovea_engine *const scalar = test_engine("scalar", NULL);
    for (uint32_t c = 0; c < FOVEA_GEMM_CLASSES; c++)
        test_tuning(scalar)->gemm[c].blob_rows = 0;
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const engine = test_engine(test_isas[i], NULL);
        if (engine == NULL)
            continue;
        for (uint32_t c = 0; c < FOVEA_GEMM_CLASSES; c++)
            test_tuning(engine)->gemm[c].blob_rows = ROWS;
        test_set_workers(engine, 3);
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            test_size(scalar, engine, test_isas[i], sizes[j].n, sizes[j].k);
        test_groups(scalar, engine, test_isas[i], FOVEA_BF16);
        test_groups(scalar, engine, test_isas[i], FOVEA_S8);
        for (int type = FOVEA_F32; type <= FOVEA_S8; type++)
            test_excluded(scalar, engine, test_isas[i], (enum fovea_type)type);
        fovea_engine_destroy(engine);
    }
    fovea_engine_destroy(scalar);
    return test_done();
}
