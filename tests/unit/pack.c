// SPDX-License-Identifier: Apache-2.0
// tests/unit/pack.c - packed operands: the layout, the same bytes on every ISA, and calls that are refused.
#include "fovea/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/weights.h"

enum { PANEL = 16, HEADER = 64 };

static struct fovea_engine *engines[TEST_ISAS];

static size_t blob_bytes(size_t k, size_t n)
{
    return HEADER + (n + PANEL - 1) / PANEL * PANEL * k * sizeof(float);
}

// Panel j / 16 holds column j at 16 * k * (j / 16) + 16 * p + j % 16; columns from n on are +0.
static size_t wrong_elements(const float *panels, const float *b, enum fovea_transpose trans, size_t k, size_t n,
                             size_t ldb)
{
    size_t wrong = 0;
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < (n + PANEL - 1) / PANEL * PANEL; j++) {
            const float want = j >= n ? 0.0f : trans == FOVEA_TRANS ? b[j * ldb + p] : b[p * ldb + j];
            wrong += memcmp(&want, panels + j / PANEL * PANEL * k + p * PANEL + j % PANEL, sizeof want) != 0;
        }
    return wrong;
}

static void pack_case(enum fovea_transpose trans, size_t k, size_t n, size_t gap)
{
    const size_t rows = trans == FOVEA_TRANS ? n : k, cols = trans == FOVEA_TRANS ? k : n, ldb = cols + gap;
    const float *const b = test_seeded(rows && cols ? (rows - 1) * ldb + cols : 0, 31 * k + n);
    size_t bytes = 0;
    CHECK(!fovea_pack_size(k, n, &bytes) && bytes == blob_bytes(k, n), "%zu x %zu takes %zu bytes", k, n, bytes);
    unsigned char *first = NULL;
    for (int i = 0; i < TEST_ISAS; i++) {
        if (!engines[i])
            continue;
        unsigned char *const blob = test_memory(bytes, TEST_HIGH);
        const enum fovea_status status = fovea_pack(engines[i], trans, k, n, b, ldb, blob, bytes);
        CHECK(!status, "%s %zu x %zu: %s", test_isas[i], k, n, fovea_status_string(status));
        CHECK(!fovea_pack_check(blob, bytes, k, n), "%s %zu x %zu: its own blob is refused", test_isas[i], k, n);
        const size_t wrong = wrong_elements((const float *)(const void *)(blob + HEADER), b, trans, k, n, ldb);
        CHECK(wrong == 0, "%s %zu x %zu ldb %zu trans %d: %zu elements are in the wrong place", test_isas[i], k, n, ldb,
              (int)trans, wrong);
        first = first ? first : blob;
        CHECK(memcmp(first, blob, bytes) == 0, "%s %zu x %zu: other bytes than scalar", test_isas[i], k, n);
    }
    test_memory_reset();
}

// A gated operand is the two of them with columns in turn.
static void gated_case(enum fovea_transpose trans, size_t k, size_t n, size_t gap)
{
    const size_t rows = trans == FOVEA_TRANS ? n : k, cols = trans == FOVEA_TRANS ? k : n, ld = cols + gap;
    const size_t pairs = trans == FOVEA_TRANS ? k : 2 * n;
    const float *const halves[2] = {test_seeded(rows && cols ? (rows - 1) * ld + cols : 0, 3 * k + n),
                                    test_seeded(rows && cols ? (rows - 1) * (ld + 1) + cols : 0, 5 * k + n)};
    float *const both = test_floats(2 * k * n, TEST_HIGH);
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < 2 * n; j++) {
            const size_t own = ld + j % 2, column = j / 2;
            both[trans == FOVEA_TRANS ? j * pairs + p : p * pairs + j] =
                halves[j % 2][trans == FOVEA_TRANS ? column * own + p : p * own + column];
        }
    size_t bytes = 0;
    CHECK(!fovea_pack_size(k, 2 * n, &bytes), "%zu x %zu", k, n);
    unsigned char *const want = test_memory(bytes, TEST_HIGH), *const blob = test_memory(bytes, TEST_HIGH);
    CHECK(!fovea_pack(engines[0], trans, k, 2 * n, both, pairs, want, bytes), "%zu x %zu", k, n);
    CHECK(!fovea_pack_gated(engines[0], trans, k, n, halves[0], ld, halves[1], ld + 1, blob, bytes) &&
              memcmp(want, blob, bytes) == 0,
          "gated %zu x %zu ld %zu trans %d", k, n, ld, (int)trans);
    test_memory_reset();
}

static void test_gated(void)
{
    static const size_t sizes[] = {0, 1, 2, 7, 8, 9, 16, 31, 40};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            for (int trans = 0; trans <= 1; trans++)
                gated_case((enum fovea_transpose)trans, sizes[i], sizes[j], (i + j) % 3 * 5);
    enum { K = 9, N = 21 };
    const size_t bytes = blob_bytes(K, 2 * N);
    const float *const b = test_seeded(K * N, 5);
    const struct fovea_engine *const e = engines[0];
    unsigned char *const blob = test_memory(bytes, TEST_HIGH);
    const enum fovea_transpose nn = FOVEA_NO_TRANS;
    CHECK(fovea_pack_gated(NULL, nn, K, N, b, N, b, N, blob, bytes) == FOVEA_ERR_NULL, "no engine");
    CHECK(fovea_pack_gated(e, nn, K, N, NULL, N, b, N, blob, bytes) == FOVEA_ERR_NULL, "no gate");
    CHECK(fovea_pack_gated(e, nn, K, N, b, N, NULL, N, blob, bytes) == FOVEA_ERR_NULL, "no value");
    CHECK(fovea_pack_gated(e, nn, K, N, b, N, b, N - 1, blob, bytes) == FOVEA_ERR_STRIDE, "rows of N - 1");
    CHECK(fovea_pack_gated(e, nn, K, SIZE_MAX / 2 + 1, b, SIZE_MAX, b, SIZE_MAX, blob, bytes) == FOVEA_ERR_OVERFLOW,
          "too wide");
    CHECK(fovea_pack_gated(e, nn, K, N, b, N, b, N, blob, bytes - 1) == FOVEA_ERR_MEMORY, "a byte too short");
    CHECK(fovea_pack_gated(e, nn, K, N, b, N, b, N, blob + 4, bytes) == FOVEA_ERR_ALIGN, "off by 4");
    size_t written = 0;
    for (size_t i = 0; i < bytes; i++)
        written += blob[i] != 0xff;
    CHECK(written == 0, "%zu bytes of the blob were written", written);
    test_memory_reset();
}

static void test_layout(void)
{
    static const size_t sizes[] = {0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 48, 61, 64, 97, 130};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            for (int trans = 0; trans <= 1; trans++)
                pack_case((enum fovea_transpose)trans, sizes[i], sizes[j], (i + j) % 3 * 5);
}

// Sizes without a blob, and calls that must leave its memory alone.
static void test_refused(void)
{
    enum { K = 9, N = 21, HUGE_SIZES = 8 };
    static const size_t half = (size_t)PTRDIFF_MAX / HEADER; // k of one panel whose bytes just do not fit
    const size_t huge[HUGE_SIZES][2] = {{SIZE_MAX, 1},      {1, SIZE_MAX}, {SIZE_MAX, SIZE_MAX}, {half, 16},
                                        {half / 2 + 1, 17}, {0, SIZE_MAX}, {16, half},           {SIZE_MAX / 64, 1}};
    const size_t bytes = blob_bytes(K, N);
    const float *const b = test_seeded(K * N, 5);
    unsigned char *const blob = test_memory(bytes, TEST_HIGH);
    const struct fovea_engine *const e = engines[0];
    size_t size = 77;
    for (int i = 0; i < HUGE_SIZES; i++) {
        const size_t k = huge[i][0], n = huge[i][1];
        CHECK(fovea_pack_size(k, n, &size) == FOVEA_ERR_OVERFLOW && size == 77, "%zu x %zu has a size", k, n);
        CHECK(fovea_pack(e, FOVEA_NO_TRANS, k, n, b, n, blob, bytes) == FOVEA_ERR_OVERFLOW &&
                  fovea_pack(e, FOVEA_TRANS, k, n, b, k, blob, bytes) == FOVEA_ERR_OVERFLOW,
              "%zu x %zu", k, n);
    }
    CHECK(!fovea_pack_size(half - 1, 16, &size) && size == half * HEADER, "the largest blob");
    CHECK(fovea_pack_size(K, N, NULL) == FOVEA_ERR_NULL, "a size at NULL");

    CHECK(fovea_pack(NULL, FOVEA_NO_TRANS, K, N, b, N, blob, bytes) == FOVEA_ERR_NULL, "no engine");
    CHECK(fovea_pack(e, FOVEA_NO_TRANS, K, N, NULL, N, blob, bytes) == FOVEA_ERR_NULL, "no B");
    CHECK(fovea_pack(e, FOVEA_NO_TRANS, K, N, b, N, NULL, bytes) == FOVEA_ERR_NULL, "no blob");
    CHECK(fovea_pack(e, (enum fovea_transpose)2, K, N, b, N, blob, bytes) == FOVEA_ERR_ENUM, "trans 2");
    CHECK(fovea_pack(e, FOVEA_NO_TRANS, K, N, b, N - 1, blob, bytes) == FOVEA_ERR_STRIDE, "rows of N - 1");
    CHECK(fovea_pack(e, FOVEA_TRANS, K, N, b, K - 1, blob, bytes) == FOVEA_ERR_STRIDE, "rows of K - 1");
    CHECK(fovea_pack(e, FOVEA_NO_TRANS, K, N, b, SIZE_MAX, blob, bytes) == FOVEA_ERR_OVERFLOW, "rows too far apart");
    CHECK(fovea_pack(e, FOVEA_TRANS, K, N, b, SIZE_MAX, blob, bytes) == FOVEA_ERR_OVERFLOW, "rows too far apart");
    CHECK(fovea_pack(e, FOVEA_NO_TRANS, K, N, b, N, blob + 4, bytes) == FOVEA_ERR_ALIGN, "off by 4");
    CHECK(fovea_pack(e, FOVEA_NO_TRANS, K, N, b, N, blob + 32, bytes) == FOVEA_ERR_ALIGN, "off by 32");
    CHECK(fovea_pack(e, FOVEA_NO_TRANS, K, N, b, N, blob, bytes - 1) == FOVEA_ERR_MEMORY, "a byte too short");
    CHECK(fovea_pack(e, FOVEA_NO_TRANS, K, N, b, N, blob, 0) == FOVEA_ERR_MEMORY, "no bytes");
    size_t written = 0;
    for (size_t i = 0; i < bytes; i++)
        written += blob[i] != 0xff;
    CHECK(written == 0, "%zu bytes of the blob were written", written);

    unsigned char *const row = test_memory(blob_bytes(K, N), TEST_HIGH);
    CHECK(!fovea_pack(e, FOVEA_NO_TRANS, 1, N, b, SIZE_MAX, row, bytes), "the stride of one row of N");
    CHECK(!fovea_pack(e, FOVEA_TRANS, K, 1, b, SIZE_MAX, row, bytes), "the stride of one row of K");

    unsigned char *const longer = test_memory(bytes + HEADER, TEST_HIGH);
    CHECK(!fovea_pack(e, FOVEA_NO_TRANS, K, N, b, N, longer, bytes + HEADER), "into longer memory");
    for (size_t i = bytes; i < bytes + HEADER; i++)
        written += longer[i] != 0xff;
    CHECK(written == 0, "%zu bytes behind the blob were written", written);
    test_memory_reset();
}

// A blob may be moved: a copy elsewhere serves, whoever packed it, and a foreign one is refused before C is touched.
static void test_use(void)
{
    enum { M = 7, N = 35, K = 30 };
    const size_t bytes = blob_bytes(K, N);
    const float *const a = test_seeded(M * K, 1), *const b = test_seeded(K * N, 2);
    char *const blob = test_memory(bytes, TEST_HIGH), *const copy = test_memory(bytes, TEST_HIGH);
    float *const expected = test_floats(M * N, TEST_HIGH), *const c = test_floats(M * N, TEST_HIGH);
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = M, desc.n = desc.ldb = desc.ldc = N, desc.k = desc.lda = K;
    struct fovea_gemm_args args = {.a = a, .b = b, .c = expected, .m = M};
    CHECK(!fovea_gemm_once(engines[0], &desc, &args), "unpacked");
    desc.b_packed = 1;
    args.b = copy;
    args.c = c;
    for (int from = 0; from < TEST_ISAS; from++)
        for (int to = 0; to < TEST_ISAS && engines[from]; to++) {
            if (!engines[to])
                continue;
            CHECK(!fovea_pack(engines[from], FOVEA_NO_TRANS, K, N, b, N, blob, bytes), "packing");
            memcpy(copy, blob, bytes);
            memset(blob, 0xff, bytes);
            CHECK(!fovea_gemm_once(engines[to], &desc, &args), "packed by %s, used by %s", test_isas[from],
                  test_isas[to]);
            CHECK_SAME(expected, c, M * N, "packed by %s, used by %s", test_isas[from], test_isas[to]);
        }
    c[0] = 42;
    desc.n = desc.ldc = N - 1;
    CHECK(fovea_gemm_once(engines[0], &desc, &args) == FOVEA_ERR_FORMAT, "a blob of another width");
    desc.n = desc.ldc = N;
    copy[0] ^= 1;
    CHECK(fovea_gemm_once(engines[0], &desc, &args) == FOVEA_ERR_FORMAT, "a blob with another magic");
    CHECK(c[0] == 42, "C was written");
    test_memory_reset();
}

int main(void)
{
    test_engines(engines);
    test_layout();
    test_gated();
    test_refused();
    test_use();
    test_engines_free(engines);
    return test_done();
}
