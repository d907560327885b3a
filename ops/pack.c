// SPDX-License-Identifier: Apache-2.0
// ops/pack.c - packs B once: fovea_pack and its checks. docs/architecture.md specifies the bytes of a blob.
//
// The checksum detects storage damage, not malice. Each step is a bijection of the state for a fixed word, and of the
// word for a fixed state, so a single damaged word is always detected. Eight chains of steps run at the speed of the L2
// cache.
#include "ops/pack.h"
#include "fovea/gemm.h"
#include "ops/widen.h"
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

// Steps p to p + k - 1 of a panel of 8-bit integers, group by group.
static void widen_s8(const struct fovea_kernels *kernels, const struct fovea_source *source, size_t p, size_t panel,
                     size_t k, float *dst)
{
    const struct fovea_s8_group *const groups =
        (const void *)((const char *)source->first + panel * fovea_panel_bytes(FOVEA_S8, source->ld));
    for (size_t at = p; at < p + k;) {
        const struct fovea_s8_group *const of = groups + at / FOVEA_GROUP;
        const size_t begin = at % FOVEA_GROUP, steps = fovea_min(FOVEA_GROUP - begin, p + k - at);
        kernels->widen_s8.run(steps, of->q[begin], of->scale, dst + (at - p) * FOVEA_PANEL);
        at += steps;
    }
}

static void widen_panels(const struct fovea_kernels *kernels, const struct fovea_source *source, size_t p, size_t j,
                         size_t k, size_t n, float *dst)
{
    for (size_t panel = j / FOVEA_PANEL; panel * FOVEA_PANEL < j + n; panel++, dst += FOVEA_PANEL * k) {
        if (source->type == FOVEA_S8) {
            widen_s8(kernels, source, p, panel, k, dst);
        } else {
            const uint16_t *const elements = (const uint16_t *)(const void *)fovea_elements_at(source, p, panel);
            fovea_widen_of(kernels, source->type)->run(FOVEA_PANEL * k, elements, dst);
        }
    }
}

void fovea_pack_panels(const struct fovea_kernels *kernels, const struct fovea_source *source, size_t p, size_t j,
                       size_t k, size_t n, float *dst)
{
    const ptrdiff_t panel = (ptrdiff_t)(FOVEA_PANEL * k), ld = (ptrdiff_t)source->ld;
    const float *const first = source->first;
    if (source->type != FOVEA_F32) {
        widen_panels(kernels, source, p, j, k, n, dst);
    } else if (source->trans) {
        kernels->pack_bt.run(k, n, first + (ptrdiff_t)j * ld + p, ld, dst, panel);
    } else {
        kernels->pack_b.run(k, n, first + (ptrdiff_t)p * ld + j, ld, dst, panel);
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

enum fovea_status fovea_stored_check(const struct fovea_stored *from, size_t k, size_t n)
{
    const bool trans = from->trans == FOVEA_TRANS;
    FOVEA_CHECK(from->b != NULL || k == 0 || n == 0, FOVEA_ERR_NULL);
    FOVEA_CHECK(trans || from->trans == FOVEA_NO_TRANS, FOVEA_ERR_ENUM);
    const size_t rows = trans ? n : k, cols = trans ? k : n;
    size_t extent = 0;
    FOVEA_CHECK(from->ld >= cols, FOVEA_ERR_STRIDE);
    FOVEA_CHECK(fovea_extent(rows, cols, from->ld, &extent), FOVEA_ERR_OVERFLOW);
    return FOVEA_OK;
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
    blob->checksum = checksum(blob);
}

// Copies column j of an operand to column each * j + first of a blob's panels. `size`, of an element, is a constant. A
// panel's steps one after another: column by column, rows of B would be far apart (a B of 4096 x 14336 7 times slower).
static inline __attribute__((always_inline)) void copy_columns(const struct fovea_stored *from,
                                                               struct fovea_operand operand, size_t each, size_t first,
                                                               char *panels, size_t size)
{
    const bool trans = from->trans == FOVEA_TRANS;
    const size_t column = (trans ? from->ld : 1) * size, row = (trans ? 1 : from->ld) * size; // distances in bytes
    const size_t most = FOVEA_PANEL / each;                                                   // columns for a panel
    for (size_t j = 0; j < operand.n && operand.k != 0; j += most, panels += FOVEA_PANEL * operand.k * size) {
        const char *const source = (const char *)from->b + j * column;
        const size_t count = fovea_min(most, operand.n - j);
        for (size_t p = 0; p < operand.k; p++) {
            for (size_t i = 0; i < count; i++) {
                memcpy(panels + (p * FOVEA_PANEL + each * i + first) * size, source + p * row + i * column, size);
            }
        }
    }
}

static void place_columns(const struct fovea_stored *from, struct fovea_operand operand, size_t each, size_t first,
                          struct fovea_blob *blob)
{
    char *const panels = (char *)(blob + 1);
    if (operand.type == FOVEA_F32) {
        copy_columns(from, operand, each, first, panels, sizeof(float));
    } else {
        copy_columns(from, operand, each, first, panels, sizeof(uint16_t));
    }
}

enum fovea_status fovea_pack_typed(const struct fovea_engine *engine, enum fovea_type type, enum fovea_transpose trans,
                                   size_t k, size_t n, const void *b, size_t ldb, void *blob, size_t bytes)
{
    const struct fovea_operand operand = {type, k, n};
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(type <= FOVEA_F16, FOVEA_ERR_ENUM); // integers have scales: ops/pack_s8.c
    const struct fovea_stored from = {type, trans, b, ldb};
    FOVEA_TRY(fovea_stored_check(&from, k, n));
    FOVEA_TRY(fovea_blob_begin(operand, blob, bytes));
    struct fovea_blob *const header = blob;
    if (type != FOVEA_F32) {
        memset(header + 1, 0, header->data_bytes);
        place_columns(&from, operand, 1, 0, header);
    } else if (k != 0 && n != 0) {
        const struct fovea_source source = {b, ldb, trans == FOVEA_TRANS, type};
        fovea_pack_panels(fovea_engine_kernels(engine), &source, 0, 0, k, n, (float *)(void *)(header + 1));
    }
    fovea_blob_end(header);
    return FOVEA_OK;
}

enum fovea_status fovea_pack(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k, size_t n,
                             const float *b, size_t ldb, void *blob, size_t bytes)
{
    return fovea_pack_typed(engine, FOVEA_F32, trans, k, n, b, ldb, blob, bytes);
}

enum fovea_status fovea_pack_gated_typed(const struct fovea_engine *engine, enum fovea_type type,
                                         enum fovea_transpose trans, size_t k, size_t n, const void *gate, size_t ldg,
                                         const void *value, size_t ldv, void *blob, size_t bytes)
{
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(type <= FOVEA_F16, FOVEA_ERR_ENUM);
    const struct fovea_stored of_gate = {type, trans, gate, ldg}, of_value = {type, trans, value, ldv};
    FOVEA_TRY(fovea_stored_check(&of_gate, k, n));
    FOVEA_TRY(fovea_stored_check(&of_value, k, n));
    size_t columns = 0;
    FOVEA_CHECK(fovea_mul(2, n, &columns), FOVEA_ERR_OVERFLOW);
    FOVEA_TRY(fovea_blob_begin((struct fovea_operand){type, k, columns}, blob, bytes));
    struct fovea_blob *const header = blob;
    const struct fovea_operand one = {type, k, n};
    memset(header + 1, 0, header->data_bytes);
    place_columns(&of_gate, one, 2, 0, header);
    place_columns(&of_value, one, 2, 1, header);
    fovea_blob_end(header);
    return FOVEA_OK;
}

enum fovea_status fovea_pack_gated(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k, size_t n,
                                   const float *gate, size_t ldg, const float *value, size_t ldv, void *blob,
                                   size_t bytes)
{
    return fovea_pack_gated_typed(engine, FOVEA_F32, trans, k, n, gate, ldg, value, ldv, blob, bytes);
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
