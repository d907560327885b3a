// SPDX-License-Identifier: Apache-2.0
// ops/pack_s8.c - packs B as 8-bit integers with scales: rounds elements of any type, or takes such integers.
#include "fovea/gemm.h"
#include "ops/pack.h"
#include "ops/widen.h"

#include <float.h>
#include <math.h>
#include <string.h>

// Integers are symmetric: -128 is not used, so that both ends of a group's range are as far away. In memory 128 is
// added.
enum { MOST = 127, ZERO = 128 };

/// op(B) in its owner's memory.
struct stored {
    enum fovea_type type;
    enum fovea_transpose trans;
    const void *b;
    size_t ld;
};

/// A group of a panel as f32.
struct wide {
    float step[FOVEA_GROUP][FOVEA_PANEL];
};

// Copies `columns` columns from j on of `steps` steps from p on to columns first, first + each, ... of a group.
static void take(const struct fovea_kernels *kernels, const struct stored *from, size_t p, size_t steps, size_t j,
                 size_t columns, size_t first, size_t each, struct wide *to)
{
    const bool trans = from->trans == FOVEA_TRANS;
    const size_t rows = trans ? columns : steps, length = trans ? steps : columns; // of memory
    const size_t at = trans ? j * from->ld + p : p * from->ld + j, size = fovea_type_bytes(from->type);
    for (size_t row = 0; row < rows; row++) {
        float line[FOVEA_GROUP];
        fovea_widen(kernels, from->type, length, (const char *)from->b + (at + row * from->ld) * size, line);
        for (size_t i = 0; i < length; i++) {
            to->step[trans ? i : row][first + each * (trans ? row : i)] = line[i];
        }
    }
}

// To nearest, ties to even, of 15 bits; false if that is no scale of a group (kernels/gemm_contract.h).
static bool round_scale(float exact, float *scale)
{
    enum { CUT = 24 - 15, MOST_BELOW_HALF = (1 << (CUT - 1)) - 1 };
    uint32_t bits;
    memcpy(&bits, &exact, sizeof bits);
    bits += MOST_BELOW_HALF + (bits >> CUT & 1);
    bits = exact > 0 ? bits >> CUT << CUT : 0; // -0 is 0
    memcpy(scale, &bits, sizeof bits);
    return exact >= 0 && *scale < 0x1p112f;
}

// Rounds `steps` steps; false if one is infinite, NaN or too large. Of a denormal scale so few bits are left that a
// quotient may pass 127; it is 0 for elements that are near the smallest f32.
static bool round_group(const struct wide *from, size_t steps, struct fovea_s8_group *to)
{
    float most[FOVEA_PANEL] = {0}, divisor[FOVEA_PANEL];
    bool fits = true;
    for (size_t p = 0; p < steps; p++) {
        for (size_t j = 0; j < FOVEA_PANEL; j++) {
            const float magnitude = fabsf(from->step[p][j]);
            most[j] = magnitude > most[j] ? magnitude : most[j];
            fits &= magnitude <= FLT_MAX;
        }
    }
    for (size_t j = 0; j < FOVEA_PANEL; j++) {
        fits &= round_scale(most[j] / MOST, &to->scale[j]);
        divisor[j] = to->scale[j] != 0 ? to->scale[j] : 1;
    }
    for (size_t p = 0; p < steps && fits; p++) {
        for (size_t j = 0; j < FOVEA_PANEL; j++) {
            const float integers = 0x1.8p23f; // among such numbers a sum is rounded to an integer, ties to even
            const float q = (from->step[p][j] / divisor[j] + integers) - integers;
            to->q[p][j] = (uint8_t)(ZERO + (int)(q > MOST ? MOST : q < -MOST ? -MOST : q));
        }
    }
    return fits;
}

// Rounds `count` operands of k x n / count, whose columns alternate in the blob.
static enum fovea_status pack_rounded(const struct fovea_engine *engine, const struct stored *from, size_t count,
                                      size_t k, size_t n, void *blob, size_t bytes)
{
    FOVEA_TRY(fovea_blob_begin((struct fovea_operand){FOVEA_S8, k, n}, blob, bytes));
    struct fovea_blob *const header = blob;
    char *to = (char *)(header + 1);
    memset(to, 0, header->data_bytes);
    const size_t columns = FOVEA_PANEL / count, each = n / count; // columns of a panel, and in all, of an operand
    for (size_t j = 0; j < each && k != 0; j += columns) {
        for (size_t p = 0; p < k; p += FOVEA_GROUP) {
            const size_t steps = fovea_min(k - p, FOVEA_GROUP);
            struct wide group = {0};
            for (size_t i = 0; i < count; i++) {
                take(fovea_engine_kernels(engine), &from[i], p, steps, j, fovea_min(columns, each - j), i, count,
                     &group);
            }
            if (!round_group(&group, steps, (struct fovea_s8_group *)(void *)to)) {
                memset(header, 0, sizeof *header); // it is no blob
                return FOVEA_ERR_VALUE;
            }
            to += fovea_panel_bytes(FOVEA_S8, steps);
        }
    }
    fovea_blob_end(header);
    return FOVEA_OK;
}

enum fovea_status fovea_pack_s8(const struct fovea_engine *engine, enum fovea_type type, enum fovea_transpose trans,
                                size_t k, size_t n, const void *b, size_t ldb, void *blob, size_t bytes)
{
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(type <= FOVEA_F16, FOVEA_ERR_ENUM);
    FOVEA_TRY(fovea_pack_accepts(trans, k, n, b, ldb));
    return pack_rounded(engine, &(struct stored){type, trans, b, ldb}, 1, k, n, blob, bytes);
}

enum fovea_status fovea_pack_gated_s8(const struct fovea_engine *engine, enum fovea_type type,
                                      enum fovea_transpose trans, size_t k, size_t n, const void *gate, size_t ldg,
                                      const void *value, size_t ldv, void *blob, size_t bytes)
{
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(type <= FOVEA_F16, FOVEA_ERR_ENUM);
    FOVEA_TRY(fovea_pack_accepts(trans, k, n, gate, ldg));
    FOVEA_TRY(fovea_pack_accepts(trans, k, n, value, ldv));
    size_t columns = 0;
    FOVEA_CHECK(fovea_mul(2, n, &columns), FOVEA_ERR_OVERFLOW);
    const struct stored from[] = {{type, trans, gate, ldg}, {type, trans, value, ldv}};
    return pack_rounded(engine, from, 2, k, columns, blob, bytes);
}

enum fovea_status fovea_pack_scaled_s8(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k,
                                       size_t n, const int8_t *b, size_t ldb, const float *scales, size_t lds,
                                       size_t group, void *blob, size_t bytes)
{
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(group != 0 && (group % FOVEA_GROUP == 0 || group >= k), FOVEA_ERR_VALUE);
    FOVEA_TRY(fovea_pack_accepts(trans, k, n, b, ldb));
    FOVEA_TRY(fovea_pack_accepts(trans, fovea_ceil_div(k, group), n, scales, lds));
    FOVEA_TRY(fovea_blob_begin((struct fovea_operand){FOVEA_S8, k, n}, blob, bytes));
    struct fovea_blob *const header = blob;
    const size_t element = trans == FOVEA_TRANS ? 1 : ldb, column = trans == FOVEA_TRANS ? ldb : 1; // to the next one
    const size_t row = trans == FOVEA_TRANS ? 1 : lds, next = trans == FOVEA_TRANS ? lds : 1;       // of scales
    char *to = (char *)(header + 1);
    memset(to, 0, header->data_bytes);
    for (size_t first = 0; first < n && k != 0; first += FOVEA_PANEL) {
        for (size_t p = 0; p < k; p += FOVEA_GROUP) {
            const size_t steps = fovea_min(k - p, FOVEA_GROUP);
            struct fovea_s8_group *const at = (struct fovea_s8_group *)(void *)to;
            memset(at->q, ZERO, steps * sizeof *at->q);
            for (size_t j = 0; j < fovea_min(n - first, FOVEA_PANEL); j++) {
                if (!round_scale(scales[p / group * row + (first + j) * next], &at->scale[j])) {
                    memset(header, 0, sizeof *header); // it is no blob
                    return FOVEA_ERR_VALUE;
                }
                for (size_t i = 0; i < steps && at->scale[j] != 0; i++) {
                    at->q[i][j] = (uint8_t)(ZERO + b[(p + i) * element + (first + j) * column]);
                }
            }
            to += fovea_panel_bytes(FOVEA_S8, steps);
        }
    }
    fovea_blob_end(header);
    return FOVEA_OK;
}
