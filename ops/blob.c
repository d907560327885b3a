// SPDX-License-Identifier: Apache-2.0
// ops/blob.c - the blob of a packed B: its header, sizes and checks. docs/architecture.md specifies the bytes.
//
// The checksum detects storage damage, not malice. Each step is a bijection of the state for a fixed word, and of the
// word for a fixed state, so a single damaged word is always detected. Eight chains of steps run at the speed of the L2
// cache.
#include "ops/blob.h"
#include "fovea/gemm.h"
#include "kernels/table.h"
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

const char *const fovea_type_names[] = {
    [FOVEA_F32] = "f32", [FOVEA_BF16] = "bf16", [FOVEA_F16] = "f16", [FOVEA_S8] = "s8"};

size_t fovea_panel_bytes(enum fovea_type type, size_t k)
{
    const size_t elements = FOVEA_PANEL * k * fovea_type_bytes(type);
    return type != FOVEA_S8 ? elements
                            : fovea_ceil_div(k, FOVEA_GROUP) * sizeof(float[FOVEA_PANEL]) +
                                  fovea_round_up(elements, FOVEA_ALIGNMENT);
}

static bool data_bytes(struct fovea_operand operand, size_t *bytes)
{
    const size_t most = SIZE_MAX / 2 / (FOVEA_PANEL * sizeof(float)); // steps whose panel's bytes do not overflow
    const bool fits = (operand.k <= most || operand.n == 0) && fovea_add(operand.n, FOVEA_PANEL - 1, bytes) &&
                      fovea_mul(*bytes / FOVEA_PANEL, fovea_panel_bytes(operand.type, operand.k), bytes) &&
                      fovea_add(*bytes, FOVEA_ALIGNMENT - 1, bytes);
    *bytes = *bytes / FOVEA_ALIGNMENT * FOVEA_ALIGNMENT;
    return fits;
}

static struct fovea_operand operand_of(const struct fovea_blob *blob)
{
    return (struct fovea_operand){(enum fovea_type)blob->type, blob->k, blob->n};
}

struct fovea_blob fovea_blob_header(struct fovea_operand operand)
{
    size_t bytes = 0;
    if (operand.type > FOVEA_S8 || !data_bytes(operand, &bytes)) {
        return (struct fovea_blob){.version = 0};
    }
    struct fovea_blob header = {
        .version = VERSION, .type = (uint32_t)operand.type, .k = operand.k, .n = operand.n, .data_bytes = bytes};
    memcpy(header.magic, MAGIC, sizeof header.magic);
    return header;
}

// Whether this is a valid header, of any operand.
static bool well_formed(const struct fovea_blob *blob)
{
    const struct fovea_blob header = fovea_blob_header(operand_of(blob));
    return fovea_blob_has(blob, &header);
}

void fovea_blob_tell(const struct fovea_why *why, const char *name, const struct fovea_blob *blob,
                     struct fovea_operand operand)
{
    if (well_formed(blob) && blob->type != (uint32_t)operand.type) {
        fovea_say(why, "%s is a blob of %s elements, not %s", name, fovea_type_names[blob->type],
                  fovea_type_names[operand.type]);
    } else if (well_formed(blob)) {
        fovea_say(why, "%s is a blob of %zu x %zu, not %zu x %zu", name, (size_t)blob->k, (size_t)blob->n, operand.k,
                  operand.n);
    } else {
        fovea_say(why, "%s is not a packed blob", name);
    }
}

enum fovea_status fovea_pack_size_typed(enum fovea_type type, size_t k, size_t n, size_t *bytes)
{
    FOVEA_CHECK(bytes != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(type <= FOVEA_S8, FOVEA_ERR_ENUM);
    size_t total = 0;
    FOVEA_CHECK(data_bytes((struct fovea_operand){type, k, n}, &total) &&
                    fovea_add(total, sizeof(struct fovea_blob), &total),
                FOVEA_ERR_OVERFLOW);
    *bytes = total;
    return FOVEA_OK;
}

enum fovea_status fovea_pack_size(size_t k, size_t n, size_t *bytes)
{
    return fovea_pack_size_typed(FOVEA_F32, k, n, bytes);
}

enum fovea_status fovea_blob_begin(struct fovea_operand operand, void *blob, size_t bytes)
{
    size_t need = 0;
    FOVEA_TRY(fovea_pack_size_typed(operand.type, operand.k, operand.n, &need));
    FOVEA_CHECK(fovea_aligned(blob), FOVEA_ERR_ALIGN);
    FOVEA_CHECK(bytes >= need, FOVEA_ERR_MEMORY);
    const struct fovea_blob header = fovea_blob_header(operand);
    memcpy(blob, &header, sizeof header);
    return FOVEA_OK;
}

void fovea_blob_end(struct fovea_blob *blob)
{
    const size_t used = fovea_ceil_div(blob->n, FOVEA_PANEL) * fovea_panel_bytes((enum fovea_type)blob->type, blob->k);
    memset((char *)(blob + 1) + used, 0, blob->data_bytes - used);
    blob->checksum = checksum(blob);
}

enum fovea_status fovea_pack_type(const void *blob, size_t bytes, enum fovea_type *type)
{
    size_t k = 0, n = 0;
    FOVEA_CHECK(type != NULL, FOVEA_ERR_NULL);
    FOVEA_TRY(fovea_pack_shape(blob, bytes, &k, &n));
    *type = (enum fovea_type)((const struct fovea_blob *)blob)->type;
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
