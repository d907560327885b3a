// SPDX-License-Identifier: Apache-2.0
// ops/pack.c - packs B once: fovea_pack and its checks. docs/architecture.md specifies the bytes of a blob.
//
// The checksum detects storage damage, not malice. Each step is a bijection of the state for a fixed word, and of the
// word for a fixed state, so a single damaged word is always detected. Eight chains of steps run at the speed of the L2
// cache.
#include "ops/pack.h"
#include "fovea/gemm.h"
#include <string.h>

static const char MAGIC[8] = {'F', 'O', 'V', 'E', 'A', 'P', '1', '6'};
enum { VERSION = 1, LANES = 8 };

_Static_assert(sizeof(struct fovea_blob) == FOVEA_ALIGNMENT, "panels begin on a cache line");

static uint64_t mix(uint64_t state, uint64_t word)
{
    const uint64_t x = state ^ word;
    return (x << 29 | x >> 35) * UINT64_C(0x9e3779b97f4a7c15); // 2^64 / golden ratio, odd
}

// bytes is a multiple of 64.
static void mix_lines(uint64_t lane[LANES], const void *data, size_t bytes)
{
    const char *line = data;
    for (size_t done = 0; done < bytes; done += LANES * sizeof(uint64_t)) {
        uint64_t word[LANES];
        memcpy(word, line + done, sizeof word);
        for (size_t i = 0; i < LANES; i++) {
            lane[i] = mix(lane[i], word[i]);
        }
    }
}

static uint64_t checksum(const struct fovea_blob *blob)
{
    struct fovea_blob header = *blob;
    header.checksum = 0;
    uint64_t lane[LANES] = {1, 2, 3, 4, 5, 6, 7, 8};
    mix_lines(lane, &header, sizeof header);
    mix_lines(lane, fovea_blob_panels(blob), blob->data_bytes);
    uint64_t sum = 0;
    for (size_t i = 0; i < LANES; i++) {
        sum = mix(sum, lane[i]);
    }
    return sum;
}

static bool data_bytes(size_t k, size_t n, size_t *bytes)
{
    size_t columns = 0;
    return fovea_add(n, FOVEA_PANEL - 1, &columns) && fovea_mul(columns / FOVEA_PANEL * FOVEA_PANEL, k, bytes) &&
           fovea_mul(*bytes, sizeof(float), bytes);
}

// Checks everything in a header except its checksum. Fields that are 0 today may have a meaning in future blobs.
static bool well_formed(const struct fovea_blob *blob)
{
    size_t bytes = 0;
    return memcmp(blob->magic, MAGIC, sizeof MAGIC) == 0 && blob->version == VERSION && blob->reserved == 0 &&
           (blob->padding[0] | blob->padding[1]) == 0 && data_bytes(blob->k, blob->n, &bytes) &&
           blob->data_bytes == bytes;
}

bool fovea_blob_matches(const struct fovea_blob *blob, size_t k, size_t n)
{
    return well_formed(blob) && blob->k == k && blob->n == n;
}

void fovea_blob_tell(const struct fovea_why *why, const char *name, const struct fovea_blob *blob, size_t k, size_t n)
{
    if (well_formed(blob)) {
        fovea_say(why, "%s is a blob of %zu x %zu, not %zu x %zu", name, (size_t)blob->k, (size_t)blob->n, k, n);
    } else {
        fovea_say(why, "%s is not a packed blob", name);
    }
}

void fovea_pack_panels(const struct fovea_kernels *kernels, const struct fovea_source *source, size_t p, size_t j,
                       size_t k, size_t n, float *dst)
{
    const ptrdiff_t panel = (ptrdiff_t)(FOVEA_PANEL * k);
    if (source->trans) {
        kernels->pack_bt.run(k, n, source->first + j * source->ld + p, (ptrdiff_t)source->ld, dst, panel);
    } else {
        kernels->pack_b.run(k, n, source->first + p * source->ld + j, (ptrdiff_t)source->ld, dst, panel);
    }
}

enum fovea_status fovea_pack_size(size_t k, size_t n, size_t *bytes)
{
    FOVEA_CHECK(bytes != NULL, FOVEA_ERR_NULL);
    size_t total = 0;
    FOVEA_CHECK(data_bytes(k, n, &total) && fovea_add(total, sizeof(struct fovea_blob), &total), FOVEA_ERR_OVERFLOW);
    *bytes = total;
    return FOVEA_OK;
}

static enum fovea_status check_operand(enum fovea_transpose trans, size_t k, size_t n, const float *b, size_t ldb)
{
    FOVEA_CHECK(b != NULL || k == 0 || n == 0, FOVEA_ERR_NULL);
    FOVEA_CHECK(trans == FOVEA_NO_TRANS || trans == FOVEA_TRANS, FOVEA_ERR_ENUM);
    const size_t rows = trans == FOVEA_TRANS ? n : k, cols = trans == FOVEA_TRANS ? k : n;
    size_t extent = 0;
    FOVEA_CHECK(ldb >= cols, FOVEA_ERR_STRIDE);
    FOVEA_CHECK(fovea_extent(rows, cols, ldb, &extent), FOVEA_ERR_OVERFLOW);
    return FOVEA_OK;
}

// Writes the header of a k x n operand's blob, except the checksum.
static enum fovea_status begin_blob(size_t k, size_t n, void *blob, size_t bytes)
{
    size_t need = 0;
    FOVEA_TRY(fovea_pack_size(k, n, &need));
    FOVEA_CHECK(fovea_aligned(blob), FOVEA_ERR_ALIGN);
    FOVEA_CHECK(bytes >= need, FOVEA_ERR_MEMORY);
    struct fovea_blob *const header = blob;
    *header = (struct fovea_blob){.version = VERSION, .k = k, .n = n, .data_bytes = need - sizeof *header};
    memcpy(header->magic, MAGIC, sizeof MAGIC);
    return FOVEA_OK;
}

enum fovea_status fovea_pack(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k, size_t n,
                             const float *b, size_t ldb, void *blob, size_t bytes)
{
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_TRY(check_operand(trans, k, n, b, ldb));
    FOVEA_TRY(begin_blob(k, n, blob, bytes));
    struct fovea_blob *const header = blob;
    if (k != 0 && n != 0) {
        const struct fovea_source source = {b, ldb, trans == FOVEA_TRANS};
        fovea_pack_panels(fovea_engine_kernels(engine), &source, 0, 0, k, n, (float *)(void *)(header + 1));
    }
    header->checksum = checksum(header);
    return FOVEA_OK;
}

enum fovea_status fovea_pack_gated(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k, size_t n,
                                   const float *gate, size_t ldg, const float *value, size_t ldv, void *blob,
                                   size_t bytes)
{
    enum { PAIRS = FOVEA_PANEL / 2 };
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_TRY(check_operand(trans, k, n, gate, ldg));
    FOVEA_TRY(check_operand(trans, k, n, value, ldv));
    size_t columns = 0;
    FOVEA_CHECK(fovea_mul(2, n, &columns), FOVEA_ERR_OVERFLOW);
    FOVEA_TRY(begin_blob(k, columns, blob, bytes));
    struct fovea_blob *const header = blob;
    float *panel = (float *)(void *)(header + 1);
    const float *const halves[2] = {gate, value};
    const size_t lds[2] = {ldg, ldv};
    for (size_t first = 0; first < n; first += PAIRS, panel += FOVEA_PANEL * k) {
        memset(panel, 0, FOVEA_PANEL * k * sizeof *panel);
        for (size_t i = 0; i < 2 * fovea_min(PAIRS, n - first); i++) {
            const size_t half = i % 2, j = first + i / 2, ld = lds[half];
            for (size_t p = 0; p < k; p++) {
                panel[p * FOVEA_PANEL + i] = halves[half][trans == FOVEA_TRANS ? j * ld + p : p * ld + j];
            }
        }
    }
    header->checksum = checksum(header);
    return FOVEA_OK;
}

enum fovea_status fovea_pack_shape(const void *blob, size_t bytes, size_t *k, size_t *n)
{
    FOVEA_CHECK(blob != NULL && k != NULL && n != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(blob), FOVEA_ERR_ALIGN);
    const struct fovea_blob *const header = blob;
    FOVEA_CHECK(bytes >= sizeof *header && well_formed(header), FOVEA_ERR_FORMAT);
    FOVEA_CHECK(bytes - sizeof *header >= header->data_bytes, FOVEA_ERR_FORMAT);
    *k = header->k;
    *n = header->n;
    return FOVEA_OK;
}

enum fovea_status fovea_pack_check(const void *blob, size_t bytes, size_t k, size_t n)
{
    size_t blob_k = 0, blob_n = 0;
    FOVEA_TRY(fovea_pack_shape(blob, bytes, &blob_k, &blob_n));
    const struct fovea_blob *const header = blob;
    FOVEA_CHECK(blob_k == k && blob_n == n && header->checksum == checksum(header), FOVEA_ERR_FORMAT);
    return FOVEA_OK;
}
