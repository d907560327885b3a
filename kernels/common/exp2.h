// SPDX-License-Identifier: Apache-2.0
// kernels/common/exp2.h - 2^x of a vector: the fixed sequence of docs/numerics.md, section 1.
//
// Included after an ISA's vec.h. Two clamps, one conversion to an integer, six FMAs and one integer addition. The
// clamps keep i within [-127, 128], so that adding it to the exponent field of p (2^-0.5 <= p <= 2^0.5) can neither
// wrap nor reach the sign: with p = 1, 128 gives exactly +inf and -127 exactly +0. Both clamps pass a NaN through. Its
// i is INT_MIN (x86) or 0 (Arm); both are 0 once shifted by 23, so the exponent addition leaves p, which is a NaN
// already, unchanged.
#ifndef FOVEA_KERNELS_COMMON_EXP2_H
#define FOVEA_KERNELS_COMMON_EXP2_H

#include "kernels/common/unroll.h"
#include "kernels/fault.h"

/// log2(e) rounded to f32: exp(x) is computed as exp2(x * ln2e).
static const float fv_ln2e = 0x1.715476p+0f;

/// The integer nearest to x.
static inline fv_i32 fv_exp2_int(fv_f32 x)
{
    return fv_to_int(FOVEA_FAULT_IS(EXP2_TRUNCATES) ? fv_sub(x, fv_copysign(fv_set1(0.5f), x)) : x);
}

/// p[j] = 2^r[j] for j < n; n is a constant of at most 8, |r[j]| <= 0.5.
static inline __attribute__((always_inline)) void fv_exp2_rest_each(fv_f32 *p, const fv_f32 *r, int n)
{
    static const fv_term coefficient[] = {FV_TERM(0x1.5f3f2cp-10f), FV_TERM(0x1.3b2dcp-7f), FV_TERM(0x1.c6aefep-5f),
                                          FV_TERM(0x1.ebfbd8p-3f),  FV_TERM(0x1.62e43p-1f), FV_TERM(1.0f)};
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        p[j] = fv_set1(FOVEA_FAULT_IS(EXP2_DEGREE_5) ? 0.0f : 0x1.41fc1ap-13f);
    }
    FV_UNROLL
    for (int c = 0; c < 6; c++) {
        FV_UNROLL
        for (int j = 0; j < n; j++) {
            p[j] = fv_fma_term(p[j], r[j], &coefficient[c]);
        }
    }
}

/// The first half of 2^x[j] for j < n; n is a constant of at most 8, each x[j] at most 128 or NaN. i[j] becomes the
/// integer nearest to x[j], and x[j] the remainder. On Zen these operations use ports that FMAs do not.
static inline __attribute__((always_inline)) void fv_exp2_split_each(fv_f32 *x, fv_i32 *i, int n)
{
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        x[j] = FOVEA_FAULT_IS(EXP2_NO_LOW_CLAMP) ? x[j] : fv_at_least(x[j], -127.0f);
        i[j] = fv_exp2_int(x[j]);
    }
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        x[j] = fv_sub_int(x[j], i[j]);
    }
}

/// The second half: x[j] becomes 2^(x[j] + i[j]).
static inline __attribute__((always_inline)) void fv_exp2_join_each(fv_f32 *x, const fv_i32 *i, int n)
{
    fv_f32 p[8];
    fv_exp2_rest_each(p, x, n);
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        x[j] = fv_add_exponent(p[j], i[j]);
    }
}

/// 2^x[j] for j < n; n is a constant of at most 8, each x[j] at most 128 or NaN, which is all that a softmax needs,
/// whose x are at most 0. The vectors are processed side by side: the chain of a single one is about 50 cycles of
/// mostly latency.
static inline __attribute__((always_inline)) void fv_exp2_to_128_each(fv_f32 *x, int n)
{
    fv_i32 i[8];
    fv_exp2_split_each(x, i, n);
    fv_exp2_join_each(x, i, n);
}

/// 2^x[j] for j < n; n is a constant of at most 8, each x[j] within [-126, 127] or NaN: the same bits with two
/// operations fewer on AVX-512, one on the others.
static inline __attribute__((always_inline)) void fv_exp2_normal_each(fv_f32 *x, int n)
{
    fv_f32 p[8], r[8];
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        r[j] = fv_sub_int(x[j], fv_exp2_int(x[j]));
    }
    fv_exp2_rest_each(p, r, n);
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        x[j] = fv_scale(p[j], x[j], r[j]);
    }
}

static inline fv_f32 fv_exp2_to_128(fv_f32 x)
{
    fv_exp2_to_128_each(&x, 1);
    return x;
}

/// 2^x[j] for j < n; n is a constant of at most 8.
static inline __attribute__((always_inline)) void fv_exp2_each(fv_f32 *x, int n)
{
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        x[j] = fv_at_most(x[j], 128.0f);
    }
    fv_exp2_to_128_each(x, n);
}

#endif
