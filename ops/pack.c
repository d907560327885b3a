// SPDX-License-Identifier: Apache-2.0
// ops/pack.c - packs B: parts of it for a plan, or once, into a blob.
#include "ops/pack.h"
#include "ops/widen.h"

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

// Panels of 16 steps and more at once, by the kernels.
static void pack_f32(const struct fovea_engine *engine, const struct fovea_stored *from, size_t k, size_t n,
                     struct fovea_blob *blob)
{
    const struct fovea_source source = {from->b, from->ld, from->trans == FOVEA_TRANS, FOVEA_F32};
    if (k != 0 && n != 0) {
        fovea_pack_panels(fovea_engine_kernels(engine), &source, 0, 0, k, n, (float *)(void *)(blob + 1));
    }
    fovea_blob_end(blob);
}

static bool fill_copied(const void *what, size_t p, size_t steps, size_t panel, void *to)
{
    fovea_columns_take(what, p, steps, panel, to);
    return true;
}

enum fovea_status fovea_pack_typed(const struct fovea_engine *engine, enum fovea_type type, enum fovea_transpose trans,
                                   size_t k, size_t n, const void *b, size_t ldb, void *blob, size_t bytes)
{
    const struct fovea_operand operand = {type, k, n};
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(type <= FOVEA_F16, FOVEA_ERR_ENUM); // integers have scales: ops/pack_s8.c
    const struct fovea_stored from = {type, trans, b, ldb};
    FOVEA_TRY(fovea_stored_check(&from, k, n));
    if (type != FOVEA_F32) {
        return fovea_blob_make(fill_copied, &(struct fovea_columns){&from, 1, n}, operand, trans, blob, bytes);
    }
    FOVEA_TRY(fovea_blob_begin(operand, blob, bytes));
    pack_f32(engine, &from, k, n, blob);
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
    const struct fovea_stored from[] = {{type, trans, gate, ldg}, {type, trans, value, ldv}};
    FOVEA_TRY(fovea_stored_check(&from[0], k, n));
    FOVEA_TRY(fovea_stored_check(&from[1], k, n));
    size_t columns = 0;
    FOVEA_CHECK(fovea_mul(2, n, &columns), FOVEA_ERR_OVERFLOW);
    return fovea_blob_make(fill_copied, &(struct fovea_columns){from, 2, columns},
                           (struct fovea_operand){type, k, columns}, trans, blob, bytes);
}

enum fovea_status fovea_pack_gated(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k, size_t n,
                                   const float *gate, size_t ldg, const float *value, size_t ldv, void *blob,
                                   size_t bytes)
{
    return fovea_pack_gated_typed(engine, FOVEA_F32, trans, k, n, gate, ldg, value, ldv, blob, bytes);
}
