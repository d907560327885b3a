// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/gemm.c - any GEMM descriptor: a status and a reason; a small one that is planned runs in exactly its
// memory and gives the scalar path's bits.
#include "fovea/gemm.h"
#include "tests/check/half.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"

enum { SMALL = 70 };

static struct fovea_gemm_desc wild(struct fuzz_input *in)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.struct_size = fuzz_byte(in) < 250 ? d.struct_size : fuzz_bits(in);
    d.trans_a = (enum fovea_transpose)fuzz_flag(in, 2);
    d.trans_b = (enum fovea_transpose)fuzz_flag(in, 2);
    d.b_packed = fuzz_flag(in, 2);
    d.b_type = fuzz_byte(in) % 2 ? FOVEA_F32 : (enum fovea_type)fuzz_flag(in, FOVEA_S8 + 1);
    size_t *const sizes[] = {&d.m, &d.n, &d.k, &d.lda, &d.ldb, &d.ldc, &d.ldr};
    for (int i = 0; i < 7; i++)
        *sizes[i] = fuzz_size(in);
    d.alpha = fuzz_byte(in) % 2 ? 1 : fuzz_float(in);
    d.beta = fuzz_byte(in) % 2 ? 0 : fuzz_float(in);
    d.activation = (enum fovea_activation)fuzz_flag(in, 5);
    d.residual = fuzz_flag(in, 2);
    return d;
}

static struct fovea_gemm_desc valid(struct fuzz_input *in)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.trans_a = (enum fovea_transpose)(fuzz_byte(in) % 2);
    d.trans_b = (enum fovea_transpose)(fuzz_byte(in) % 2);
    d.b_packed = fuzz_byte(in) % 2;
    d.b_type = d.b_packed ? (enum fovea_type)(fuzz_byte(in) % (FOVEA_S8 + 1)) : FOVEA_F32;
    d.m = fuzz_below(in, SMALL);
    d.n = fuzz_below(in, SMALL * 2);
    d.k = fuzz_below(in, SMALL);
    d.lda = (d.trans_a ? d.m : d.k) + fuzz_byte(in) % 3;
    d.ldb = (d.trans_b ? d.k : d.n) + fuzz_byte(in) % 3;
    d.ldc = d.n + fuzz_byte(in) % 3;
    d.ldr = d.n + fuzz_byte(in) % 3;
    static const float scales[] = {1, 0, -0.5f, 2};
    d.alpha = scales[fuzz_byte(in) % 4];
    d.beta = scales[(fuzz_byte(in) + 1) % 4];
    d.activation = (enum fovea_activation)(fuzz_byte(in) % 5);
    d.residual = fuzz_byte(in) % 2;
    return d;
}

// Floats from the first to behind the last of rows x cols with leading dimension ld.
static size_t extent(size_t rows, size_t cols, size_t ld)
{
    return rows && cols ? (rows - 1) * ld + cols : 0;
}

static const float *matrix(size_t rows, size_t cols, size_t ld, uint64_t seed, int specials)
{
    float *const x = test_floats(extent(rows, cols, ld), TEST_HIGH);
    fuzz_fill(x, extent(rows, cols, ld), seed, specials);
    return x;
}

static const float *random_matrix(size_t rows, size_t cols, size_t ld, uint64_t seed)
{
    return matrix(rows, cols, ld, seed, 1);
}

// B as elements of 16 bits.
static const uint16_t *narrow(enum fovea_type type, const float *b, size_t count)
{
    uint16_t *const halves = test_memory(count * sizeof *halves, TEST_HIGH);
    for (size_t i = 0; i < count; i++)
        halves[i] = half_of(type, b[i]);
    return halves;
}

static const void *pack(const struct fovea_gemm_desc *d, const float *b, size_t ldb)
{
    size_t bytes = 0;
    FUZZ_CHECK(!fovea_pack_size_typed(d->b_type, d->k, d->n, &bytes));
    void *const blob = test_memory(bytes, TEST_HIGH);
    // A plan for a packed B ignores trans_b, so it may be anything.
    const enum fovea_transpose trans = d->trans_b ? FOVEA_TRANS : FOVEA_NO_TRANS;
    const size_t count = trans ? extent(d->n, d->k, ldb) : extent(d->k, d->n, ldb);
    const bool whole = d->b_type == FOVEA_F32 || d->b_type == FOVEA_S8;
    const void *const source = whole ? (const void *)b : narrow(d->b_type, b, count);
    FUZZ_CHECK(d->b_type == FOVEA_S8
                   ? !fovea_pack_s8(fuzz_engine(1), FOVEA_F32, trans, d->k, d->n, source, ldb, blob, bytes)
                   : !fovea_pack_typed(fuzz_engine(1), d->b_type, trans, d->k, d->n, source, ldb, blob, bytes));
    FUZZ_CHECK(!fovea_pack_check(blob, bytes, d->k, d->n));
    return blob;
}

static void run(const struct fovea_gemm_desc *d, struct fuzz_input *in)
{
    const uint64_t seed = fuzz_bits(in);
    const uint8_t bits = fuzz_byte(in);
    struct fovea_gemm_args args = {.m = d->m ? fuzz_below(in, (uint32_t)d->m + 1) : 0};
    const size_t b_rows = d->trans_b ? d->n : d->k, b_cols = d->trans_b ? d->k : d->n;
    const size_t ldb = d->b_packed ? b_cols : d->ldb, c_floats = extent(args.m, d->n, d->ldc);
    args.a = random_matrix(d->trans_a ? d->k : args.m, d->trans_a ? args.m : d->k, d->lda, seed);
    const float *const b = matrix(b_rows, b_cols, ldb, seed + 1, d->b_type != FOVEA_S8); // which takes finite ones
    args.b = d->b_packed ? pack(d, b, ldb) : b;
    args.bias = bits & 1 ? random_matrix(1, d->n, d->n, seed + 2) : NULL;
    const float *const before = random_matrix(args.m, d->n, d->ldc, seed + 3);
    const float *const residual = random_matrix(args.m, d->n, d->ldr, seed + 4);
    float *c[2];
    for (uint32_t i = 0; i < 2; i++) {
        c[i] = test_floats(c_floats, TEST_HIGH);
        memcpy(c[i], before, c_floats * sizeof *before);
        args.c = c[i];
        args.residual = !d->residual ? NULL : bits & 2 && d->ldr == d->ldc ? c[i] : residual;
        const enum test_way way = i ? (enum test_way)(bits / 4 % TEST_WAYS) : TEST_SERIAL;
        FUZZ_CHECK(!test_run(&test_gemm, fuzz_engine(i * bits), d, &args, way, seed));
    }
    FUZZ_CHECK(test_differ(c[0], c[1], c_floats) == c_floats);
    for (size_t i = 0; d->n && i + 1 < args.m; i++)
        FUZZ_CHECK(memcmp(c[0] + i * d->ldc + d->n, before + i * d->ldc + d->n, (d->ldc - d->n) * sizeof *before) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    const int is_wild = fuzz_byte(&in) % 4 == 0;
    const struct fovea_gemm_desc d = is_wild ? wild(&in) : valid(&in);
    char text[FOVEA_EXPLAIN_BYTES] = "";
    static _Alignas(64) unsigned char plan[4096];
    FUZZ_CHECK(fovea_gemm_plan_size() <= sizeof plan);
    memset(plan, 0x5a, sizeof plan);
    const enum fovea_status status = fovea_gemm_plan(fuzz_engine((uint32_t)size), &d, plan);
    FUZZ_CHECK(status == fovea_explain_gemm(fuzz_engine((uint32_t)size), &d, text, sizeof text) && *text);
    if (!is_wild && status)
        fprintf(stderr, "%s\n", text);
    FUZZ_CHECK(is_wild || status == FOVEA_OK);
    for (size_t i = 0; status && i < sizeof plan; i++)
        FUZZ_CHECK(plan[i] == 0x5a);
    const size_t most = 1 << 16; // floats of a matrix
    if (!status && d.m <= SMALL && d.n <= 2 * SMALL && d.k <= SMALL && d.lda < most / SMALL &&
        d.ldb < most / SMALL / 2 && d.ldc < most / SMALL && d.ldr < most / SMALL)
        run(&d, &in);
    test_memory_reset();
    return 0;
}

size_t fuzz_seed(uint32_t index, uint8_t *out)
{
    uint64_t random = index;
    for (size_t i = 0; i < 48; i++)
        out[i] = (uint8_t)test_random(&random);
    return index < 8 ? 48 : 0;
}
