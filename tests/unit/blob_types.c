// SPDX-License-Identifier: Apache-2.0
// tests/unit/blob_types.c - blobs of 16-bit elements: their bytes, what is said of them, and that no product takes one
// type for another.
#include "fovea/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/weights.h"
#include "tests/unit/blob_bytes.h"

enum { MOST = 9, N = 37, PANELS = 3 };

/// A k x N operand in rows.
struct operand {
    enum fovea_type type;
    size_t k;
    uint16_t b[MOST * N];
};

static struct operand some_operand(enum fovea_type type, size_t k, uint16_t first)
{
    struct operand o = {.type = type, .k = k};
    for (size_t i = 0; i < k * N; i++)
        o.b[i] = (uint16_t)(first + i);
    return o;
}

static size_t bytes_of(size_t k)
{
    return HEADER + (PANELS * PANEL * k * sizeof(uint16_t) + 63) / 64 * 64;
}

static unsigned char *packed(const struct fovea_engine *engine, const struct operand *o)
{
    unsigned char *const blob = test_memory(bytes_of(o->k), TEST_HIGH);
    CHECK(!fovea_pack_typed(engine, o->type, FOVEA_NO_TRANS, o->k, N, o->b, N, blob, bytes_of(o->k)), "pack");
    return blob;
}

// The bytes as documented, from B in rows and from B transposed.
static void test_format(const struct fovea_engine *engine, const struct operand *o)
{
    const size_t k = o->k, need = bytes_of(k);
    size_t bytes = 0;
    uint16_t turned[N * MOST];
    unsigned char *const theirs = test_memory(need, TEST_HIGH), *const ours = packed(engine, o);
    CHECK(!fovea_pack_size_typed(o->type, k, N, &bytes) && bytes == need, "%zu bytes, not %zu", bytes, need);
    memset(theirs, 0, need);
    memcpy(theirs, "FOVEAP16", 8);
    put(theirs + 8, 1, 4);
    put(theirs + 12, o->type, 4);
    put(theirs + 16, k, 8);
    put(theirs + 24, N, 8);
    put(theirs + 32, need - HEADER, 8);
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < N; j++) {
            turned[j * k + p] = o->b[p * N + j];
            put(theirs + HEADER + 2 * ((j / PANEL * k + p) * PANEL + j % PANEL), o->b[p * N + j], 2);
        }
    seal(theirs, need);
    CHECK(memcmp(ours, theirs, need) == 0, "type %d, %zu steps: the format is not as documented", (int)o->type, k);
    CHECK(!fovea_pack_typed(engine, o->type, FOVEA_TRANS, k, N, turned, k, ours, need) &&
              memcmp(ours, theirs, need) == 0,
          "type %d, %zu steps: not the same from a transposed B", (int)o->type, k);
    test_memory_reset();
}

// What the readers say of a sound blob, and of a damaged one.
static void test_readers(const struct fovea_engine *engine, const struct operand *o)
{
    const size_t bytes = bytes_of(o->k);
    size_t k = 0, n = 0;
    enum fovea_type type = FOVEA_F32;
    unsigned char *const blob = packed(engine, o);
    CHECK(!fovea_pack_check(blob, bytes, o->k, N), "refused");
    CHECK(!fovea_pack_shape(blob, bytes, &k, &n) && k == o->k && n == N, "%zu x %zu", k, n);
    CHECK(!fovea_pack_type(blob, bytes, &type) && type == o->type, "type %d", (int)type);
    CHECK(fovea_pack_type(blob, bytes, NULL) == FOVEA_ERR_NULL, "type NULL");
    CHECK(fovea_pack_check(blob, bytes - 1, o->k, N) == FOVEA_ERR_FORMAT, "a byte is missing");
    CHECK(fovea_pack_type(blob, bytes - 1, &type) == FOVEA_ERR_FORMAT, "a byte is missing");
    for (size_t i = 0; i < bytes; i++) {
        blob[i] ^= 1;
        CHECK(fovea_pack_check(blob, bytes, o->k, N) == FOVEA_ERR_FORMAT, "byte %zu is another", i);
        blob[i] ^= 1;
    }
    put(blob + 12, FOVEA_S8 + 1, 4);
    seal(blob, bytes);
    CHECK(fovea_pack_type(blob, bytes, &type) == FOVEA_ERR_FORMAT, "a type of the future");
    test_memory_reset();
}

// A product with elements of another type refuses a blob, and writes nothing.
static void test_taken(const struct fovea_engine *engine, const struct operand *o)
{
    static const char *const names[] = {"f32", "bf16", "f16", "s8"};
    const float a[MOST] = {0};
    float c[N];
    char text[FOVEA_EXPLAIN_BYTES] = "", expected[80];
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = 1, d.n = d.ldc = N, d.k = d.lda = o->k, d.b_packed = 1;
    const struct fovea_gemm_args args = {.a = a, .b = packed(engine, o), .c = c, .m = 1};
    void *const plan = test_memory(fovea_gemm_plan_size(), TEST_HIGH);
    for (int type = FOVEA_F32; type <= FOVEA_S8; type++) {
        memset(c, 0xff, sizeof c);
        d.b_type = (enum fovea_type)type;
        CHECK(!fovea_gemm_plan(engine, &d, plan), "plan");
        const bool same = d.b_type == o->type;
        CHECK(fovea_gemm_once(engine, &d, &args) == (same ? FOVEA_OK : FOVEA_ERR_FORMAT), "type %d", type);
        CHECK(same == (c[0] == 0) && same == (c[N - 1] == 0), "C of type %d", type);
        snprintf(expected, sizeof expected, "gemm: args.b, entry 0, is a blob of %s elements, not %s", names[o->type],
                 names[type]);
        CHECK(same || (fovea_explain_gemm_call(plan, &args, text, sizeof text) && !strcmp(text, expected)), "%s", text);
    }
    test_memory_reset();
}

// A gated blob is one of pairs.
static void test_gated(const struct fovea_engine *engine, const struct operand *o)
{
    const struct operand value = some_operand(o->type, o->k, 0xb100);
    uint16_t both[MOST * 2 * N];
    size_t bytes = 0;
    CHECK(!fovea_pack_size_typed(o->type, o->k, 2 * N, &bytes), "size");
    unsigned char *const gated = test_memory(bytes, TEST_HIGH), *const plain = test_memory(bytes, TEST_HIGH);
    for (size_t i = 0; i < o->k * N; i++) {
        both[2 * i] = o->b[i];
        both[2 * i + 1] = value.b[i];
    }
    CHECK(!fovea_pack_typed(engine, o->type, FOVEA_NO_TRANS, o->k, 2 * N, both, 2 * N, plain, bytes), "pairs");
    CHECK(!fovea_pack_gated_typed(engine, o->type, FOVEA_NO_TRANS, o->k, N, o->b, N, value.b, N, gated, bytes) &&
              memcmp(gated, plain, bytes) == 0,
          "type %d", (int)o->type);
    test_memory_reset();
}

// Without steps there is nothing to read, however many columns there are.
static void test_nothing(const struct fovea_engine *engine)
{
    const size_t many = SIZE_MAX / 8;
    for (int type = FOVEA_F32; type <= FOVEA_F16; type++)
        for (int trans = FOVEA_NO_TRANS; trans <= FOVEA_TRANS; trans++) {
            const enum fovea_type t = (enum fovea_type)type;
            const enum fovea_transpose way = (enum fovea_transpose)trans;
            const size_t ld = trans == FOVEA_TRANS ? 0 : many;
            size_t bytes = 0;
            CHECK(!fovea_pack_size_typed(t, 0, many, &bytes) && bytes == HEADER, "type %d: %zu bytes", type, bytes);
            void *const blob = test_memory(bytes, TEST_HIGH);
            CHECK(!fovea_pack_typed(engine, t, way, 0, many, NULL, ld, blob, bytes), "type %d", type);
            CHECK(!fovea_pack_check(blob, bytes, 0, many), "type %d", type);
            CHECK(!fovea_pack_gated_typed(engine, t, way, 0, many, NULL, ld, NULL, ld, blob, bytes), "type %d", type);
            CHECK(!fovea_pack_check(blob, bytes, 0, 2 * many), "type %d", type);
            CHECK(!fovea_pack_size_typed(t, SIZE_MAX, 0, &bytes) && bytes == HEADER, "type %d: no columns", type);
        }
    test_memory_reset();
}

static void test_arguments(const struct fovea_engine *engine)
{
    const struct operand o = some_operand(FOVEA_BF16, MOST, 1);
    const size_t bytes = bytes_of(MOST);
    const enum fovea_type wrong = (enum fovea_type)4, negative = (enum fovea_type)(-1);
    size_t size = 77;
    unsigned char *const blob = packed(engine, &o);
    CHECK(fovea_pack_size_typed(wrong, MOST, N, &size) == FOVEA_ERR_ENUM, "type 4");
    CHECK(fovea_pack_size_typed(FOVEA_F16, MOST, N, NULL) == FOVEA_ERR_NULL, "size NULL");
    CHECK(fovea_pack_size_typed(FOVEA_F16, SIZE_MAX / 16, N, &size) == FOVEA_ERR_OVERFLOW, "too large");
    CHECK(fovea_pack_size_typed(FOVEA_F16, SIZE_MAX / 32, PANEL, &size) == FOVEA_ERR_OVERFLOW, "by its header");
    CHECK(size == 77, "a size was written");
    CHECK(fovea_pack_typed(engine, negative, FOVEA_NO_TRANS, MOST, N, o.b, N, blob, bytes) == FOVEA_ERR_ENUM,
          "type -1");
    CHECK(fovea_pack_typed(engine, FOVEA_F16, FOVEA_NO_TRANS, MOST, N, o.b, N, blob, bytes - 1) == FOVEA_ERR_MEMORY,
          "a byte too short");
    CHECK(fovea_pack_gated_typed(engine, wrong, FOVEA_NO_TRANS, MOST, N / 2, o.b, N, o.b, N, blob, bytes) ==
              FOVEA_ERR_ENUM,
          "gated, type 4");
    CHECK(!fovea_pack_check(blob, bytes, MOST, N), "the blob was written");
    test_memory_reset();
}

int main(void)
{
    struct fovea_engine *const engine = test_engine("scalar", NULL);
    for (int type = FOVEA_BF16; type <= FOVEA_F16; type++)
        for (size_t k = MOST - 1; k <= MOST; k++) { // three panels of nine steps end within a line
            const struct operand o = some_operand((enum fovea_type)type, k, 0x3000);
            test_format(engine, &o);
            test_readers(engine, &o);
            test_taken(engine, &o);
            test_gated(engine, &o);
        }
    test_nothing(engine);
    test_arguments(engine);
    fovea_engine_destroy(engine);
    return test_done();
}
