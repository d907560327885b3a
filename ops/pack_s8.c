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

/// A group of a panel as f32.
struct wide {
    float step[FOVEA_GROUP][FOVEA_PANEL];
};

// Where element [p,j] lies.
static size_t place(const struct fovea_stored *from, size_t p, size_t j)
{
    return from->trans == FOVEA_TRANS ? j * from->ld + p : p * from->ld + j;
}

// Copies `columns` columns from j on of `steps` steps from p on to columns first, first + each, ... of a group.
static void take(const struct fovea_kernels *kernels, const struct fovea_stored *from, size_t p, size_t steps, size_t j,
                 size_t columns, size_t first, size_t each, struct wide *to)
{
    const bool trans = from->trans == FOVEA_TRANS;
    const size_t rows = trans ? columns : steps, length = trans ? steps : columns; // of memory
    const size_t at = place(from, p, j), size = fovea_type_bytes(from->type);
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

/// Operands of the same type and size, whose columns alternate in a blob of n columns.
struct rounded {
    const struct fovea_kernels *kernels;
    const struct fovea_stored *from;
    size_t count, n;
};

static bool fill_rounded(const void *what, size_t p, size_t steps, size_t panel, struct fovea_s8_group *to)
{
    const struct rounded *const r = what;
    const size_t columns = FOVEA_PANEL / r->count, j = panel * columns; // of an operand
    struct wide group = {0};
    for (size_t i = 0; i < r->count; i++) {
        take(r->kernels, &r->from[i], p, steps, j, fovea_min(columns, r->n / r->count - j), i, r->count, &group);
    }
    return round_group(&group, steps, to);
}

/// Integers, and a scale for each `group` steps of their n columns.
struct scaled {
    struct fovea_stored integers, scales;
    size_t group, n;
};

static bool fill_scaled(const void *what, size_t p, size_t steps, size_t panel, struct fovea_s8_group *to)
{
    const struct scaled *const s = what;
    const int8_t *const integers = s->integers.b;
    const float *const scales = s->scales.b;
    memset(to->q, ZERO, steps * sizeof *to->q);
    for (size_t i = 0; i < fovea_min(s->n - panel * FOVEA_PANEL, FOVEA_PANEL); i++) {
        const size_t j = panel * FOVEA_PANEL + i;
        if (!round_scale(scales[place(&s->scales, p / s->group, j)], &to->scale[i])) {
            return false;
        }
        for (size_t step = 0; step < steps && to->scale[i] != 0; step++) {
            to->q[step][i] = (uint8_t)(ZERO + integers[place(&s->integers, p + step, j)]);
        }
    }
    return true;
}

/// Fills the steps from p on of a panel, one group; or returns false, if they have no such scales.
typedef bool fill_fn(const void *what, size_t p, size_t steps, size_t panel, struct fovea_s8_group *to);

static enum fovea_status pack(fill_fn *fill, const void *what, size_t k, size_t n, void *blob, size_t bytes)
{
    FOVEA_TRY(fovea_blob_begin((struct fovea_operand){FOVEA_S8, k, n}, blob, bytes));
    struct fovea_blob *const header = blob;
    char *to = (char *)(header + 1);
    memset(to, 0, header->data_bytes);
    for (size_t panel = 0; panel < fovea_ceil_div(n, FOVEA_PANEL) && k != 0; panel++) {
        for (size_t p = 0; p < k; p += FOVEA_GROUP) {
            const size_t steps = fovea_min(k - p, FOVEA_GROUP);
            if (!fill(what, p, steps, panel, (struct fovea_s8_group *)(void *)to)) {
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
    const struct fovea_stored from = {type, trans, b, ldb};
    FOVEA_TRY(fovea_stored_check(&from, k, n));
    return pack(fill_rounded, &(struct rounded){fovea_engine_kernels(engine), &from, 1, n}, k, n, blob, bytes);
}

enum fovea_status fovea_pack_gated_s8(const struct fovea_engine *engine, enum fovea_type type,
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
    const struct rounded rounded = {fovea_engine_kernels(engine), from, 2, columns};
    return pack(fill_rounded, &rounded, k, columns, blob, bytes);
}

enum fovea_status fovea_pack_scaled_s8(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k,
                                       size_t n, const int8_t *b, size_t ldb, const float *scales, size_t lds,
                                       size_t group, void *blob, size_t bytes)
{
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(group != 0 && (group % FOVEA_GROUP == 0 || group >= k), FOVEA_ERR_VALUE);
    const struct scaled scaled = {{FOVEA_S8, trans, b, ldb}, {FOVEA_F32, trans, scales, lds}, group, n};
    FOVEA_TRY(fovea_stored_check(&scaled.integers, k, n));
    FOVEA_TRY(fovea_stored_check(&scaled.scales, fovea_ceil_div(k, group), n));
    return pack(fill_scaled, &scaled, k, n, blob, bytes);
}
