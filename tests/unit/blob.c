// SPDX-License-Identifier: Apache-2.0
// tests/unit/blob.c - packed operands as files: every byte as documented, mapped anywhere, refused when foreign or
// damaged. What is read and written here is written from docs/architecture.md alone.
#include "fovea/gemm.h"
#include "tests/support/engines.h"
#include "tests/support/weights.h"
#include "tests/unit/blob_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

static struct fovea_engine *engines[TEST_ISAS];

static size_t blob_bytes(size_t k, size_t n)
{
    return HEADER + (n + PANEL - 1) / PANEL * PANEL * k * sizeof(float);
}

// b is k x n, in rows.
static void write_blob(unsigned char *blob, size_t k, size_t n, const float *b)
{
    const size_t bytes = blob_bytes(k, n);
    memset(blob, 0, bytes);
    memcpy(blob, "FOVEAP16", 8);
    put(blob + 8, 1, 4);
    put(blob + 16, k, 8);
    put(blob + 24, n, 8);
    put(blob + 32, bytes - HEADER, 8);
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < n; j++)
            memcpy(blob + HEADER + ((j / PANEL * k + p) * PANEL + j % PANEL) * sizeof *b, &b[p * n + j], sizeof *b);
    seal(blob, bytes);
}

// k x n random numbers, packed.
static unsigned char *some_blob(size_t k, size_t n)
{
    const size_t bytes = blob_bytes(k, n);
    unsigned char *const blob = test_memory(bytes, TEST_HIGH);
    const enum fovea_status status =
        fovea_pack(engines[0], FOVEA_NO_TRANS, k, n, test_seeded(k * n, k + n), n, blob, bytes);
    CHECK(!status, "packing %zu x %zu: %s", k, n, fovea_status_string(status));
    return blob;
}

// Another program's blob has the bytes of ours, and says its shape.
static void test_format(void)
{
    static const size_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {3, 16}, {16, 17}, {40, 31}, {129, 200}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t k = sizes[i][0], n = sizes[i][1], bytes = blob_bytes(k, n);
        unsigned char *const ours = some_blob(k, n), *const theirs = test_memory(bytes, TEST_HIGH);
        write_blob(theirs, k, n, test_seeded(k * n, k + n));
        CHECK(memcmp(ours, theirs, bytes) == 0, "%zu x %zu: the format is not as documented", k, n);
        size_t blob_k = 77, blob_n = 77;
        CHECK(!fovea_pack_shape(theirs, bytes, &blob_k, &blob_n) && blob_k == k && blob_n == n, "%zu x %zu: %zu x %zu",
              k, n, blob_k, blob_n);
        CHECK(!fovea_pack_check(theirs, bytes, k, n), "%zu x %zu: refused", k, n);
        CHECK(!fovea_pack_check(theirs, bytes + 100, k, n), "%zu x %zu: refused in longer memory", k, n);
        test_memory_reset();
    }
}

// What the three readers say of a blob of `bytes`; gemm is asked for k x n, and must not write when it refuses.
struct verdict {
    enum fovea_status shape, check, gemm;
};

static struct verdict judge(const unsigned char *blob, size_t bytes, size_t k, size_t n)
{
    enum { M = 2, MOST = 64 };
    static const float a[M * MOST];
    float c[M * MOST] = {42};
    size_t blob_k = 77, blob_n = 77;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = M, desc.n = desc.ldc = n, desc.k = desc.lda = k, desc.b_packed = 1;
    const struct fovea_gemm_args args = {.a = a, .b = blob, .c = c, .m = M};
    const struct verdict v = {fovea_pack_shape(blob, bytes, &blob_k, &blob_n), fovea_pack_check(blob, bytes, k, n),
                              fovea_gemm_once(engines[0], &desc, &args)};
    CHECK(!v.shape || (blob_k == 77 && blob_n == 77), "a shape was written");
    CHECK(!v.gemm || c[0] == 42, "C was written");
    return v;
}

// What a GEMM that is asked for k x n says of a blob that it refuses.
static void check_told(const unsigned char *blob, size_t k, size_t n, const char *expected)
{
    float some[1] = {0};
    char text[200] = "";
    void *const plan = test_memory(fovea_gemm_plan_size(), TEST_HIGH);
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = 1, desc.n = desc.ldc = n, desc.k = desc.lda = k, desc.b_packed = 1;
    const struct fovea_gemm_args args = {.a = some, .b = blob, .c = some, .m = 1};
    CHECK(!fovea_gemm_plan(engines[0], &desc, plan) &&
              fovea_explain_gemm_call(plan, &args, text, sizeof text) == FOVEA_ERR_FORMAT && !strcmp(text, expected),
          "\"%s\", not \"%s\"", text, expected);
}

// Headers that say something else, with a checksum to match.
static void test_foreign(void)
{
    enum { K = 9, N = 21 };
    static const struct {
        const char *what;
        size_t at;
        uint64_t value;
        int bytes;
    } changes[] = {
        {"another magic", 0, 'f', 1},
        {"another layout", 6, '3', 1},
        {"layout version 0", 8, 0, 4},
        {"layout version 2", 8, 2, 4},
        {"a big-endian version", 8, 1u << 24, 4},
        {"another type", 12, 1, 4},
        {"k - 1", 16, K - 1, 8},
        {"k + 1", 16, K + 1, 8},
        {"k = 0", 16, 0, 8},
        {"a big-endian k", 16, (uint64_t)K << 56, 8},
        {"k times 16 that wraps around to k", 16, K + (UINT64_C(1) << 60), 8},
        {"k times 64 that wraps around to k", 16, K + (UINT64_C(1) << 58), 8},
        {"k of all bits", 16, UINT64_MAX, 8},
        {"n of another panel", 24, N + PANEL, 8},
        {"n = 0", 24, 0, 8},
        {"n that wraps around", 24, UINT64_MAX - 5, 8},
        {"n times k that wraps around", 24, UINT64_C(1) << 61, 8},
        {"a byte less", 32, K * 2 * PANEL * 4 - 1, 8},
        {"a panel more", 32, K * 3 * PANEL * 4, 8},
        {"no panels", 32, 0, 8},
        {"padding", 48, 1, 8},
        {"padding to the end", 63, 1, 1},
    };
    const size_t bytes = blob_bytes(K, N);
    unsigned char *const good = some_blob(K, N), *const bad = test_memory(bytes, TEST_HIGH);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        memcpy(bad, good, bytes);
        put(bad + changes[i].at, changes[i].value, changes[i].bytes);
        seal(bad, bytes);
        const struct verdict v = judge(bad, bytes, K, N);
        CHECK(v.shape == FOVEA_ERR_FORMAT && v.check == FOVEA_ERR_FORMAT && v.gemm == FOVEA_ERR_FORMAT,
              "%s: shape %s, check %s, gemm %s", changes[i].what, fovea_status_string(v.shape),
              fovea_status_string(v.check), fovea_status_string(v.gemm));
        check_told(bad, K, N, "gemm: args.b, entry 0, is not a packed blob");
    }
    test_memory_reset();
}

// Sound blobs of other sizes than asked for, some of them of as many bytes.
static void test_other_sizes(void)
{
    static const size_t sizes[][4] = {
        {9, 21, 21, 9}, {32, 16, 16, 32}, {9, 21, 9, 20}, {9, 21, 8, 21}, {16, 48, 48, 16}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t *const s = sizes[i];
        const unsigned char *const blob = some_blob(s[0], s[1]);
        const struct verdict v = judge(blob, blob_bytes(s[0], s[1]), s[2], s[3]);
        char told[120];
        snprintf(told, sizeof told, "gemm: args.b, entry 0, is a blob of %zu x %zu, not %zu x %zu", s[0], s[1], s[2],
                 s[3]);
        check_told(blob, s[2], s[3], told);
        CHECK(!v.shape && v.check == FOVEA_ERR_FORMAT && v.gemm == FOVEA_ERR_FORMAT, "%zu x %zu as %zu x %zu", s[0],
              s[1], s[2], s[3]);
    }
    test_memory_reset();
}

// One flipped bit anywhere, any changed byte of the header, and any missing byte, is found.
static void test_damage(void)
{
    enum { K = 9, N = 21 };
    const size_t bytes = blob_bytes(K, N);
    unsigned char *const blob = some_blob(K, N);
    size_t accepted = 0;
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        blob[bit / 8] ^= (unsigned char)(1u << bit % 8);
        accepted += fovea_pack_check(blob, bytes, K, N) != FOVEA_ERR_FORMAT;
        blob[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    CHECK(accepted == 0, "%zu single-bit errors were not found", accepted);
    for (size_t i = 0; i < HEADER; i++)
        for (unsigned change = 1; change < 256; change++) {
            blob[i] ^= (unsigned char)change;
            accepted += fovea_pack_check(blob, bytes, K, N) != FOVEA_ERR_FORMAT;
            if (i < CHECKSUM || i >= CHECKSUM + 8) // gemm does not read all of B twice for the checksum's sake
                accepted += judge(blob, bytes, K, N).gemm != FOVEA_ERR_FORMAT;
            blob[i] ^= (unsigned char)change;
        }
    CHECK(accepted == 0, "%zu wrong headers were accepted", accepted);
    for (size_t size = 0; size < bytes; size++)
        accepted += fovea_pack_check(blob, size, K, N) != FOVEA_ERR_FORMAT;
    for (size_t size = 0; size < bytes; size += HEADER) { // behind the cut lies an inaccessible page
        void *const cut = test_memory(size, TEST_HIGH);
        size_t k, n;
        memcpy(cut, blob, size);
        accepted += fovea_pack_check(cut, size, K, N) != FOVEA_ERR_FORMAT;
        accepted += fovea_pack_shape(cut, size, &k, &n) != FOVEA_ERR_FORMAT;
    }
    CHECK(accepted == 0, "%zu blobs that were cut short were accepted", accepted);
    CHECK(!fovea_pack_check(blob, bytes, K, N), "the blob is whole again");
    test_memory_reset();
}

// In a blob of many panels: random bytes, and lines that have changed places.
static void test_damaged_panels(void)
{
    enum { K = 61, N = 333, ROUNDS = 300 };
    const size_t bytes = blob_bytes(K, N), lines = bytes / HEADER;
    unsigned char *const good = some_blob(K, N), *const bad = test_memory(bytes, TEST_HIGH);
    uint64_t seed = 1;
    size_t accepted = 0;
    memcpy(bad, good, bytes);
    for (int round = 0; round < ROUNDS; round++) {
        const size_t at = HEADER + test_random(&seed) % (bytes - HEADER);
        bad[at] ^= (unsigned char)(1 + test_below(&seed, 255));
        accepted += fovea_pack_check(bad, bytes, K, N) != FOVEA_ERR_FORMAT;
        bad[at] = good[at];

        unsigned char *const one = bad + HEADER * (1 + test_random(&seed) % (lines - 1));
        unsigned char *const two = bad + HEADER * (1 + test_random(&seed) % (lines - 1));
        unsigned char line[HEADER];
        memcpy(line, one, HEADER), memmove(one, two, HEADER), memcpy(two, line, HEADER);
        accepted += fovea_pack_check(bad, bytes, K, N) != (memcmp(bad, good, bytes) != 0 ? FOVEA_ERR_FORMAT : FOVEA_OK);
        memcpy(bad, good, bytes);
    }
    CHECK(accepted == 0, "%zu damaged blobs were accepted", accepted);
    test_memory_reset();
}

static void test_arguments(void)
{
    enum { K = 9, N = 21 };
    const size_t bytes = blob_bytes(K, N);
    unsigned char *const blob = some_blob(K, N), *const moved = test_memory(bytes + HEADER, TEST_LOW);
    size_t k, n;
    for (size_t by = 4; by < HEADER; by += 4) {
        memcpy(moved + by, blob, bytes);
        const struct verdict v = judge(moved + by, bytes, K, N);
        CHECK(v.shape == FOVEA_ERR_ALIGN && v.check == FOVEA_ERR_ALIGN && v.gemm == FOVEA_ERR_ALIGN, "off by %zu", by);
    }
    CHECK(fovea_pack_check(NULL, bytes, K, N) == FOVEA_ERR_NULL, "check of NULL");
    CHECK(fovea_pack_shape(NULL, bytes, &k, &n) == FOVEA_ERR_NULL, "shape of NULL");
    CHECK(fovea_pack_shape(blob, bytes, NULL, &n) == FOVEA_ERR_NULL, "k at NULL");
    CHECK(fovea_pack_shape(blob, bytes, &k, NULL) == FOVEA_ERR_NULL, "n at NULL");
    test_memory_reset();
}

// Two blobs behind something else in one file, mapped read-only where the system likes: shapes from their headers, and
// products with the bits of the natural B on every ISA.
static void test_mapped(void)
{
    enum { M = 19, BLOBS = 2 };
    static const size_t sizes[BLOBS][2] = {{130, 97}, {61, 160}};
    FILE *const file = tmpfile();
    static const char before[3 * HEADER];
    size_t length = fwrite(before, 1, sizeof before, file);
    for (int i = 0; i < BLOBS; i++)
        length += fwrite(some_blob(sizes[i][0], sizes[i][1]), 1, blob_bytes(sizes[i][0], sizes[i][1]), file);
    CHECK(fflush(file) == 0, "writing");
    const unsigned char *const bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    CHECK(bytes != MAP_FAILED, "mapping");
    const enum fovea_status advised = fovea_advise_huge_pages(bytes, length);
    CHECK(!advised || advised == FOVEA_ERR_UNSUPPORTED, "%s", fovea_status_string(advised));

    size_t at = sizeof before, k = 0, n = 0, size = 0;
    for (int i = 0; i < BLOBS; i++, at += size) {
        CHECK(!fovea_pack_shape(bytes + at, length - at, &k, &n) && k == sizes[i][0] && n == sizes[i][1], "%zu x %zu",
              k, n);
        CHECK(!fovea_pack_size(k, n, &size) && !fovea_pack_check(bytes + at, length - at, k, n), "blob %d", i);
        float *const expected = test_floats(M * n, TEST_HIGH), *const c = test_floats(M * n, TEST_HIGH);
        struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
        desc.m = M, desc.n = desc.ldb = desc.ldc = n, desc.k = desc.lda = k;
        struct fovea_gemm_args args = {
            .a = test_seeded(M * k, 3), .b = test_seeded(k * n, k + n), .c = expected, .m = M};
        CHECK(!fovea_gemm_once(engines[0], &desc, &args), "unpacked");
        desc.b_packed = 1, args.b = bytes + at, args.c = c;
        for (int isa = 0; isa < TEST_ISAS; isa++) {
            memset(c, 0xff, M * n * sizeof *c);
            CHECK(!engines[isa] ||
                      (!fovea_gemm_once(engines[isa], &desc, &args) && test_differ(expected, c, M * n) == M * n),
                  "%s: blob %d gives other bits than B", test_isas[isa], i);
        }
    }
    CHECK(at == length, "%zu bytes are left", length - at);
    munmap((void *)(uintptr_t)bytes, length);
    fclose(file);
    test_memory_reset();
}

int main(void)
{
    test_engines(engines);
    test_format();
    test_foreign();
    test_other_sizes();
    test_damage();
    test_damaged_panels();
    test_arguments();
    test_mapped();
    test_engines_free(engines);
    return test_done();
}
