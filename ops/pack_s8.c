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

// Columns' largest magnitudes; false if one is infinite or NaN. As integers, the order of magnitudes is that of
// numbers, and these come last.
static bool find_most(const struct wide *from, size_t steps, float most[FOVEA_PANEL])
{
    const int32_t magnitude = INT32_MAX; // all but the sign
    int32_t bits[FOVEA_PANEL] = {0}, highest = 0, largest;
    const float finite = FLT_MAX;
    memcpy(&largest, &finite, sizeof largest);
    for (size_t p = 0; p < steps; p++) {
        int32_t step[FOVEA_PANEL];
        memcpy(step, from->step[p], sizeof step);
        for (size_t j = 0; j < FOVEA_PANEL; j++) {
            bits[j] = (step[j] & magnitude) > bits[j] ? step[j] & magnitude : bits[j];
        }
    }
    for (size_t j = 0; j < FOVEA_PANEL; j++) {
        highest = bits[j] > highest ? bits[j] : highest;
    }
    memcpy(most, bits, sizeof bits);
    return highest <= largest;
}

// Of a denormal scale so few bits are left that a quotient may pass 127; it is 0 for elements that are near the
// smallest f32. Of others it passes 127 by less than the rounding of the scale, and becomes 127.
static void limit(struct wide *group, size_t steps, size_t j, float scale)
{
    const float limit = MOST * scale; // exact
    for (size_t p = 0; p < steps && scale < FLT_MIN && scale != 0; p++) {
        const float x = group->step[p][j];
        group->step[p][j] = x > limit ? limit : x < -limit ? -limit : x;
    }
}

// Makes each element a number whose last byte is that of the integer.
static void divide(struct wide *group, size_t steps, const float divisor[FOVEA_PANEL])
{
    const float integers = 0x1.8p23f; // among such numbers a sum is rounded to an integer, ties to even
    for (size_t p = 0; p < steps; p++) {
        for (size_t j = 0; j < FOVEA_PANEL; j++) {
            group->step[p][j] = group->step[p][j] / divisor[j] + integers;
        }
    }
}

// Their last bytes.
static void narrow(const struct wide *group, size_t steps, struct fovea_s8_group *to)
{
    for (size_t p = 0; p < steps; p++) {
        uint32_t bits[FOVEA_PANEL];
        memcpy(bits, group->step[p], sizeof bits);
        for (size_t j = 0; j < FOVEA_PANEL; j++) {
            to->q[p][j] = (uint8_t)(bits[j] + ZERO);
        }
    }
}

// What follows the steps of a group that is not full, to the end of its line.
static void end_group(struct fovea_s8_group *group, size_t steps)
{
    const size_t used = steps * sizeof group->q[0];
    memset((char *)group->q + used, 0, fovea_round_up(used, FOVEA_ALIGNMENT) - used);
}

// Rounds `steps` steps; false if one is infinite, NaN or too large.
static bool round_group(struct wide *from, size_t steps, struct fovea_s8_group *to)
{
    float most[FOVEA_PANEL], divisor[FOVEA_PANEL];
    bool fits = find_most(from, steps, most);
    for (size_t j = 0; j < FOVEA_PANEL && fits; j++) {
        fits &= round_scale(most[j] / MOST, &to->scale[j]);
        divisor[j] = to->scale[j] != 0 ? to->scale[j] : 1;
        limit(from, steps, j, to->scale[j]);
    }
    if (fits) {
        divide(from, steps, divisor);
        narrow(from, steps, to);
    }
    end_group(to, steps);
    return fits;
}

/// What is to be rounded.
struct rounded {
    const struct fovea_kernels *kernels;
    struct fovea_columns columns;
};

static bool fill_rounded(const void *what, size_t p, size_t steps, size_t panel, void *to)
{
    const struct rounded *const r = what;
    const enum fovea_type type = r->columns.from->type;
    struct wide group;
    uint16_t halves[FOVEA_GROUP * FOVEA_PANEL];
    fovea_columns_take(&r->columns, p, steps, panel, type == FOVEA_F32 ? (void *)&group : halves);
    if (type != FOVEA_F32) {
        fovea_widen(r->kernels, type, steps * FOVEA_PANEL, halves, group.step[0]);
    }
    return round_group(&group, steps, to);
}

/// Integers, and a scale for each `group` steps of their columns.
struct scaled {
    struct fovea_columns integers;
    struct fovea_stored scales;
    size_t group;
};

static bool fill_scaled(const void *what, size_t p, size_t steps, size_t panel, void *to)
{
    const struct scaled *const s = what;
    const float *const scales = s->scales.b;
    const size_t first = panel * FOVEA_PANEL, columns = fovea_min(s->integers.n - first, FOVEA_PANEL);
    struct fovea_s8_group *const group = to;
    uint8_t live[FOVEA_PANEL] = {0}; // the bits of integers that count, which a scale of 0 leaves none
    memset(group->scale, 0, sizeof group->scale);
    for (size_t j = 0; j < columns; j++) {
        if (!round_scale(scales[place(&s->scales, p / s->group, first + j)], &group->scale[j])) {
            return false;
        }
        live[j] = group->scale[j] != 0 ? UINT8_MAX : 0;
    }
    fovea_columns_take(&s->integers, p, steps, panel, group->q);
    for (size_t step = 0; step < steps; step++) {
        for (size_t j = 0; j < FOVEA_PANEL; j++) {
            group->q[step][j] = (uint8_t)(ZERO + (group->q[step][j] & live[j]));
        }
    }
    end_group(group, steps);
    return true;
}

enum fovea_status fovea_pack_s8(const struct fovea_engine *engine, enum fovea_type type, enum fovea_transpose trans,
                                size_t k, size_t n, const void *b, size_t ldb, void *blob, size_t bytes)
{
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(type <= FOVEA_F16, FOVEA_ERR_ENUM);
    const struct fovea_stored from = {type, trans, b, ldb};
    FOVEA_TRY(fovea_stored_check(&from, k, n));
    const struct rounded rounded = {fovea_engine_kernels(engine), {&from, 1, n}};
    return fovea_blob_make(fill_rounded, &rounded, (struct fovea_operand){FOVEA_S8, k, n}, trans, blob, bytes);
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
    const struct rounded rounded = {fovea_engine_kernels(engine), {from, 2, columns}};
    return fovea_blob_make(fill_rounded, &rounded, (struct fovea_operand){FOVEA_S8, k, columns}, trans, blob, bytes);
}

enum fovea_status fovea_pack_scaled_s8(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k,
                                       size_t n, const int8_t *b, size_t ldb, const float *scales, size_t lds,
                                       size_t group, void *blob, size_t bytes)
{
    FOVEA_CHECK(engine != NULL && blob != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(group != 0 && (group % FOVEA_GROUP == 0 || group >= k), FOVEA_ERR_VALUE);
    const struct fovea_stored integers = {FOVEA_S8, trans, b, ldb};
    const struct scaled scaled = {{&integers, 1, n}, {FOVEA_F32, trans, scales, lds}, group};
    FOVEA_TRY(fovea_stored_check(&integers, k, n));
    FOVEA_TRY(fovea_stored_check(&scaled.scales, fovea_ceil_div(k, group), n));
    return fovea_blob_make(fill_scaled, &scaled, (struct fovea_operand){FOVEA_S8, k, n}, trans, blob, bytes);
}
