// SPDX-License-Identifier: Apache-2.0
// tests/unit/pack_s8.c - blobs of 8-bit integers: every byte as documented, from operands of each type and from
// integers that have their scales; the ends of the range of floats, also multiplied; what is refused.
#include "fovea/gemm.h"
#include "tests/check/half.h"
#include "tests/support/engines.h"
#include "tests/support/s8.h"
#include "tests/support/weights.h"
#include "tests/unit/blob_bytes.h"

#include <float.h>
#include <stdlib.h>

enum { N = 37, MOST = 200, ZERO = 128 };

static const size_t lengths[] = {0, 1, 3, 4, 63, 64, 65, 66, 127, 128, 129, MOST};

static size_t panel_bytes(size_t k)
{
    return (k + S8_GROUP - 1) / S8_GROUP * 64 + (16 * k + 63) / 64 * 64;
}

static size_t blob_bytes(size_t k, size_t n)
{
    return HEADER + (n + PANEL - 1) / PANEL * panel_bytes(k);
}

/// A k x n operand, element [p,j] at [p * n + j]: integers, and a scale for each 64 steps of a column.
struct integers {
    size_t k, n;
    int8_t *q;
    float *scale;
};

// Writes a blob from docs/architecture.md alone.
static unsigned char *documented(const struct integers *o)
{
    const size_t bytes = blob_bytes(o->k, o->n);
    unsigned char *const blob = test_memory(bytes, TEST_HIGH);
    memset(blob, 0, bytes);
    memcpy(blob, "FOVEAP16", 8);
    put(blob + 8, 1, 4);
    put(blob + 12, FOVEA_S8, 4);
    put(blob + 16, o->k, 8);
    put(blob + 24, o->n, 8);
    put(blob + 32, bytes - HEADER, 8);
    for (size_t j = 0; j < (o->n + PANEL - 1) / PANEL * PANEL; j++)
        for (size_t p = 0; p < o->k; p++) {
            unsigned char *const group =
                blob + HEADER + j / PANEL * panel_bytes(o->k) + p / S8_GROUP * (64 + S8_GROUP * PANEL);
            group[64 + p % S8_GROUP * PANEL + j % PANEL] = (unsigned char)(ZERO + (j < o->n ? o->q[p * o->n + j] : 0));
            if (j < o->n)
                memcpy(group + 4 * (j % PANEL), &o->scale[p / S8_GROUP * o->n + j], 4);
        }
    seal(blob, bytes);
    return blob;
}

static void expect(const char *what, const unsigned char *blob, const struct integers *o)
{
    const unsigned char *const want = documented(o);
    const size_t bytes = blob_bytes(o->k, o->n);
    size_t at = 0;
    while (at < bytes && blob[at] == want[at])
        at++;
    CHECK(at == bytes, "%s, %zux%zu: byte %zu of %zu is %d, not %d", what, o->k, o->n, at, bytes, blob[at], want[at]);
    CHECK(!fovea_pack_check(blob, bytes, o->k, o->n), "%s, %zux%zu: not whole", what, o->k, o->n);
}

// Elements of a type in rows of n, or of k where it is transposed, with a few more between rows.
static void *stored(enum fovea_type type, enum fovea_transpose trans, size_t k, size_t n, const float *b, size_t ld)
{
    char *const to = test_memory((k + n) * (ld + 1) * sizeof(float), TEST_HIGH);
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < n; j++) {
            const size_t at = s8_at(trans, ld, p, j);
            const uint16_t half = type == FOVEA_F32 ? 0 : half_of(type, b[p * n + j]);
            memcpy(to + at * fovea_type_bytes(type), type == FOVEA_F32 ? (const void *)&b[p * n + j] : &half,
                   fovea_type_bytes(type));
        }
    return to;
}

// What a k x n operand in rows of n rounds to.
static struct integers rounded(size_t k, size_t n, const float *b)
{
    struct integers o = {k, n, test_memory(k * n + 1, TEST_HIGH), test_floats((k / S8_GROUP + 1) * n, TEST_HIGH)};
    for (size_t j = 0; j < n; j++)
        for (size_t p = 0; p < k; p++) {
            float *const scale = &o.scale[p / S8_GROUP * n + j];
            if (p % S8_GROUP == 0) {
                float most = 0;
                for (size_t i = p; i < k && i < p + S8_GROUP; i++)
                    most = fmaxf(most, fabsf(b[i * n + j]));
                *scale = s8_scale(most);
            }
            o.q[p * n + j] = (int8_t)(*scale != 0 ? fmin(fmax(rint((double)(b[p * n + j] / *scale)), -127), 127) : 0);
        }
    return o;
}

static void test_rounding(const struct fovea_engine *engine, enum fovea_type type, size_t k)
{
    uint64_t rng = k + 1;
    float *const b = test_some(k * N, 1, &rng);
    for (size_t i = 0; i < k * N; i++) { // some columns are zeros, some have one large element
        b[i] = i % N == 5 ? 0 : i % N == 7 && i / N % 50 == 3 ? 40 * b[i] : b[i];
        b[i] = type == FOVEA_F32 ? b[i] : half_value(type, half_of(type, b[i]));
    }
    const struct integers o = rounded(k, N, b);
    const size_t bytes = blob_bytes(k, N);
    size_t said = 0;
    CHECK(!fovea_pack_size_typed(FOVEA_S8, k, N, &said) && said == bytes, "%zu bytes, not %zu", said, bytes);
    for (int trans = FOVEA_NO_TRANS; trans <= FOVEA_TRANS; trans++) {
        const enum fovea_transpose t = (enum fovea_transpose)trans;
        const size_t ld = (t == FOVEA_TRANS ? k : N) + 3;
        unsigned char *const blob = test_memory(bytes, TEST_HIGH);
        memset(blob, 0xa5, bytes);
        CHECK(!fovea_pack_s8(engine, type, t, k, N, stored(type, t, k, N, b, ld), ld, blob, bytes), "pack");
        expect(t == FOVEA_TRANS ? "transposed" : "in rows", blob, &o);
    }
    test_memory_reset();
}

// Column j of the gate and of the values lie side by side.
static void test_gated(const struct fovea_engine *engine, enum fovea_type type, size_t k, size_t n)
{
    uint64_t rng = k + n;
    const float *const gate = test_some(k * n, 1, &rng), *const value = test_some(k * n, 3, &rng);
    float *const both = test_floats(2 * k * n, TEST_HIGH);
    const size_t bytes = blob_bytes(k, 2 * n);
    unsigned char *const blob = test_memory(bytes, TEST_HIGH);
    for (size_t i = 0; i < k * n; i++) {
        both[2 * i] = type == FOVEA_F32 ? gate[i] : half_value(type, half_of(type, gate[i]));
        both[2 * i + 1] = type == FOVEA_F32 ? value[i] : half_value(type, half_of(type, value[i]));
    }
    const struct integers o = rounded(k, 2 * n, both);
    for (int trans = FOVEA_NO_TRANS; trans <= FOVEA_TRANS; trans++) {
        const enum fovea_transpose t = (enum fovea_transpose)trans;
        const size_t ld = (t == FOVEA_TRANS ? k : n) + 2;
        CHECK(!fovea_pack_gated_s8(engine, type, t, k, n, stored(type, t, k, n, gate, ld), ld,
                                   stored(type, t, k, n, value, ld), ld, blob, bytes),
              "gated");
        expect("gated", blob, &o);
    }
    test_memory_reset();
}

// Integers with a scale for each `group` steps, which may have more bits than are kept.
static void test_scaled(const struct fovea_engine *engine, size_t k, size_t group)
{
    uint64_t rng = k + group;
    const size_t rows = (k + group - 1) / group, bytes = blob_bytes(k, N);
    struct integers o = {k, N, test_memory(k * N + 1, TEST_HIGH), test_floats((k / S8_GROUP + 1) * N, TEST_HIGH)};
    float *const scales = test_some(rows * N, 1, &rng);
    unsigned char *const blob = test_memory(bytes, TEST_HIGH);
    for (size_t i = 0; i < rows * N; i++)
        scales[i] = i % 11 == 3 ? 0 : fabsf(scales[i]) + 0x1p-20f;
    for (size_t i = 0; i < k * N; i++)
        o.q[i] = (int8_t)(test_float(&rng) * 128);
    int8_t *const in_rows = test_memory(k * N + 1, TEST_HIGH), *const turned = test_memory(k * N + 1, TEST_HIGH);
    float *const scales_turned = test_floats(rows * N, TEST_HIGH);
    for (size_t j = 0; j < N; j++)
        for (size_t p = 0; p < k; p++) {
            const float scale = scales[p / group * N + j];
            in_rows[p * N + j] = turned[j * k + p] = o.q[p * N + j];
            scales_turned[j * rows + p / group] = scale;
            o.scale[p / S8_GROUP * N + j] = s8_nearest(scale);
            o.q[p * N + j] = scale == 0 ? 0 : o.q[p * N + j];
        }
    CHECK(!fovea_pack_scaled_s8(engine, FOVEA_NO_TRANS, k, N, in_rows, N, scales, N, group, blob, bytes), "scaled");
    expect("scaled", blob, &o);
    CHECK(!fovea_pack_scaled_s8(engine, FOVEA_TRANS, k, N, turned, k, scales_turned, rows, group, blob, bytes),
          "turned");
    expect("scaled, transposed", blob, &o);
    test_memory_reset();
}

// One column of one element beside 0: what becomes of it, or that it is refused and the blob is none.
static void test_ends(const struct fovea_engine *engine)
{
    static const struct {
        float x, scale;
        int q; // 0: refused, unless scale is 0
    } ends[] = {{1, 0x1.0204p-7f, 127},
                {-127, 1, -127},
                {0x1p-149f, 0, 0},
                {-0x1p-144f, 0, 0},
                {0x1p-135f, 0, 0},
                {0x1p-133f, 0x1p-140f, 127},
                {-0x1p-133f, 0x1p-140f, -127},
                {0x1.fp117f, 0x1.f3e8p110f, 127},
                {0x1p118f, 0x1.0204p111f, 127},
                {0x1p119f, NAN, 0},
                {FLT_MAX, NAN, 0},
                {INFINITY, NAN, 0},
                {-INFINITY, NAN, 0},
                {NAN, NAN, 0}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const float b[2] = {0, ends[i].x};
        const size_t bytes = blob_bytes(2, 1);
        unsigned char *const blob = test_memory(bytes, TEST_HIGH);
        const enum fovea_status status = fovea_pack_s8(engine, FOVEA_F32, FOVEA_NO_TRANS, 2, 1, b, 1, blob, bytes);
        float scale = ends[i].scale;
        int8_t q[2] = {0, (int8_t)ends[i].q};
        if (!isnan(scale)) {
            CHECK(status == FOVEA_OK, "%a: %s", (double)ends[i].x, fovea_status_string(status));
            char what[32];
            snprintf(what, sizeof what, "%a", (double)ends[i].x);
            expect(what, blob, &(struct integers){2, 1, q, &scale});
        } else {
            CHECK(status == FOVEA_ERR_VALUE, "%a: %s", (double)ends[i].x, fovea_status_string(status));
            CHECK(fovea_pack_check(blob, bytes, 2, 1) == FOVEA_ERR_FORMAT, "%a: it is a blob", (double)ends[i].x);
        }
        test_memory_reset();
    }
}

// Without steps there is nothing to read, however many columns there are. A scale of -0 is one of 0.
static void test_nothing(const struct fovea_engine *engine)
{
    const size_t many = SIZE_MAX / 8;
    unsigned char *const blob = test_memory(blob_bytes(2, 1), TEST_HIGH);
    CHECK(!fovea_pack_s8(engine, FOVEA_F32, FOVEA_NO_TRANS, 0, many, NULL, many, blob, HEADER) &&
              !fovea_pack_check(blob, HEADER, 0, many),
          "no steps");
    CHECK(!fovea_pack_gated_s8(engine, FOVEA_F16, FOVEA_TRANS, 0, many, NULL, 0, NULL, 0, blob, HEADER) &&
              !fovea_pack_check(blob, HEADER, 0, 2 * many),
          "no steps, gated");
    CHECK(!fovea_pack_scaled_s8(engine, FOVEA_TRANS, 0, many, NULL, 0, NULL, 0, 64, blob, HEADER) &&
              !fovea_pack_check(blob, HEADER, 0, many),
          "no steps, scaled");
    CHECK(!fovea_pack_s8(engine, FOVEA_F32, FOVEA_NO_TRANS, many, 0, NULL, 0, blob, HEADER) &&
              !fovea_pack_check(blob, HEADER, many, 0),
          "no columns");
    int8_t q[2] = {5, -128};
    float scale = -0.0f;
    CHECK(!fovea_pack_scaled_s8(engine, FOVEA_NO_TRANS, 2, 1, q, 1, &scale, 1, 64, blob, blob_bytes(2, 1)), "-0");
    scale = 0, q[0] = q[1] = 0;
    expect("a scale of -0", blob, &(struct integers){2, 1, q, &scale});
    test_memory_reset();
}

// Rows of C by the kernel for few rows, and so many that B is widened first: products with the largest and the smallest
// integers and scales are exact.
static void test_largest(const struct fovea_engine *engine, size_t m)
{
    static const float scales[] = {0x1.fffcp111f, 0x1.fffap111f, 0x1p-140f, 0x1.fffcp-126f, 1};
    static const int8_t integers[] = {-128, -127, 127, 1};
    enum { K = sizeof integers, COUNT = sizeof scales / sizeof *scales };
    int8_t q[K * COUNT];
    for (size_t i = 0; i < sizeof q; i++)
        q[i] = integers[i / COUNT];
    const size_t bytes = blob_bytes(K, COUNT);
    unsigned char *const blob = test_memory(bytes, TEST_HIGH);
    CHECK(!fovea_pack_scaled_s8(engine, FOVEA_NO_TRANS, K, COUNT, q, COUNT, scales, COUNT, K, blob, bytes), "largest");
    float *const a = test_floats(m * K, TEST_HIGH), *const c = test_floats(m * COUNT, TEST_HIGH);
    for (size_t i = 0; i < m * K; i++)
        a[i] = i % K == i / K % K ? 1 : 0;
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = m, d.n = d.ldc = COUNT, d.k = d.lda = K, d.b_packed = 1, d.b_type = FOVEA_S8;
    CHECK(!fovea_gemm_once(engine, &d, &(struct fovea_gemm_args){.a = a, .b = blob, .c = c, .m = m}), "gemm");
    for (size_t i = 0; i < m * COUNT; i++) {
        const double want = (double)integers[i / COUNT % K] * (double)s8_nearest(scales[i % COUNT]);
        CHECK((double)c[i] == want, "row %zu, %a: %a", i / COUNT, (double)scales[i % COUNT], (double)c[i]);
    }
    test_memory_reset();
}

static void test_refused(const struct fovea_engine *engine)
{
    enum { K = 70 };
    static const int8_t q[K * N];
    static float b[K * N], scales[2 * N];
    const size_t bytes = blob_bytes(K, N);
    unsigned char *const blob = test_memory(bytes, TEST_HIGH);
    memset(blob, 0xa5, bytes);
#define S8(engine, type, trans, k, n, b, ld, blob, bytes)                                                              \
    fovea_pack_s8(engine, (enum fovea_type)(type), (enum fovea_transpose)(trans), k, n, b, ld, blob, bytes)
#define SCALED(trans, q, ldq, scales, lds, group, bytes)                                                               \
    fovea_pack_scaled_s8(engine, (enum fovea_transpose)(trans), K, N, q, ldq, scales, lds, group, blob, bytes)
    CHECK(S8(NULL, FOVEA_F32, 0, K, N, b, N, blob, bytes) == FOVEA_ERR_NULL, "engine");
    CHECK(S8(engine, FOVEA_F32, 0, K, N, b, N, NULL, bytes) == FOVEA_ERR_NULL, "blob");
    CHECK(S8(engine, FOVEA_F32, 0, K, N, NULL, N, blob, bytes) == FOVEA_ERR_NULL, "b");
    CHECK(S8(engine, FOVEA_S8, 0, K, N, b, N, blob, bytes) == FOVEA_ERR_ENUM, "from s8");
    CHECK(S8(engine, FOVEA_F32, 2, K, N, b, N, blob, bytes) == FOVEA_ERR_ENUM, "trans");
    CHECK(S8(engine, FOVEA_F32, 0, K, N, b, N - 1, blob, bytes) == FOVEA_ERR_STRIDE, "ld");
    CHECK(S8(engine, FOVEA_F32, 1, K, N, b, K - 1, blob, bytes) == FOVEA_ERR_STRIDE, "ld");
    CHECK(S8(engine, FOVEA_F32, 0, K, N, b, N, blob + 4, bytes - 4) == FOVEA_ERR_ALIGN, "align");
    CHECK(S8(engine, FOVEA_F32, 0, K, N, b, N, blob, bytes - 1) == FOVEA_ERR_MEMORY, "short");
    CHECK(S8(engine, FOVEA_F32, 0, SIZE_MAX / 128, 1, b, SIZE_MAX / 2, blob, bytes) == FOVEA_ERR_OVERFLOW, "large");
#define GATED(type, trans, gate, ldg, value, ldv)                                                                      \
    fovea_pack_gated_s8(engine, type, (enum fovea_transpose)(trans), K, N / 2, gate, ldg, value, ldv, blob, bytes)
    CHECK(GATED(FOVEA_S8, 0, b, N, b, N) == FOVEA_ERR_ENUM, "gated, from s8");
    CHECK(GATED(FOVEA_F32, 0, NULL, N, b, N) == FOVEA_ERR_NULL, "gate");
    CHECK(GATED(FOVEA_F32, 0, b, N, NULL, N) == FOVEA_ERR_NULL, "value");
    CHECK(GATED(FOVEA_F32, 0, b, N / 2 - 1, b, N) == FOVEA_ERR_STRIDE, "ld of the gate");
    CHECK(GATED(FOVEA_F32, 1, b, K, b, K - 1) == FOVEA_ERR_STRIDE, "ld of the value");
    CHECK(fovea_pack_gated_s8(engine, FOVEA_F32, FOVEA_NO_TRANS, 0, SIZE_MAX / 2 + 1, NULL, SIZE_MAX, NULL, SIZE_MAX,
                              blob, bytes) == FOVEA_ERR_OVERFLOW,
          "gated");
    CHECK(SCALED(0, NULL, N, scales, N, 64, bytes) == FOVEA_ERR_NULL, "q");
    CHECK(SCALED(0, q, N, NULL, N, 64, bytes) == FOVEA_ERR_NULL, "scales");
    CHECK(SCALED(0, q, N, scales, N, 0, bytes) == FOVEA_ERR_VALUE, "group 0");
    CHECK(SCALED(0, q, N, scales, N, 32, bytes) == FOVEA_ERR_VALUE, "group 32");
    CHECK(SCALED(0, q, N, scales, N, K - 1, bytes) == FOVEA_ERR_VALUE, "group 69");
    CHECK(SCALED(0, q, N, scales, N - 1, 64, bytes) == FOVEA_ERR_STRIDE, "lds");
    CHECK(SCALED(1, q, K, scales, 1, 64, bytes) == FOVEA_ERR_STRIDE, "lds");
    CHECK(fovea_pack_typed(engine, FOVEA_S8, FOVEA_NO_TRANS, K, N, q, N, blob, bytes) == FOVEA_ERR_ENUM, "no scales");
    for (size_t i = 0; i < bytes; i++)
        CHECK(blob[i] == 0xa5, "byte %zu was written", i);
    static const float bad[] = {-1, NAN, INFINITY, 0x1p112f, 0x1.fffep111f}; // the last is rounded to 2^112
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        scales[2 * N - 1] = bad[i];
        CHECK(SCALED(0, q, N, scales, N, 64, bytes) == FOVEA_ERR_VALUE, "scale %g", (double)bad[i]);
        CHECK(fovea_pack_check(blob, bytes, K, N) == FOVEA_ERR_FORMAT, "scale %g: it is a blob", (double)bad[i]);
    }
    static float value[K * (N / 2)];
    value[K * (N / 2) - 1] = NAN;
    CHECK(GATED(FOVEA_F32, 0, b, N, value, N / 2) == FOVEA_ERR_VALUE, "a value that is NaN");
    CHECK(fovea_pack_check(blob, bytes, K, N / 2 * 2) == FOVEA_ERR_FORMAT, "a value that is NaN: it is a blob");
    scales[2 * N - 1] = 0;
    CHECK(!SCALED(0, q, N, scales, N, SIZE_MAX, bytes) && !fovea_pack_check(blob, bytes, K, N), "one for each column");
    size_t size = 0;
    CHECK(fovea_pack_size_typed(FOVEA_S8, SIZE_MAX, 1, &size) == FOVEA_ERR_OVERFLOW, "size");
    CHECK(fovea_pack_size_typed(FOVEA_S8, SIZE_MAX / 64, 17, &size) == FOVEA_ERR_OVERFLOW, "size");
    test_memory_reset();
}

int main(void)
{
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const engine = test_engine(test_isas[i], NULL);
        if (engine == NULL)
            continue;
        for (int type = FOVEA_F32; type <= FOVEA_F16; type++)
            for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
                test_rounding(engine, (enum fovea_type)type, lengths[j]);
                test_gated(engine, (enum fovea_type)type, lengths[j], 1 + 11 * j);
            }
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            test_scaled(engine, lengths[j], 64);
            test_scaled(engine, lengths[j], 128);
            test_scaled(engine, lengths[j], MOST);
        }
        test_ends(engine);
        test_nothing(engine);
        test_largest(engine, 4);
        test_largest(engine, 60);
        test_refused(engine);
        fovea_engine_destroy(engine);
    }
    return test_done();
}
