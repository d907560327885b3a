// SPDX-License-Identifier: Apache-2.0
// kernels/common/exp2.h - 2^x of a vector: the fixed sequence of docs/numerics.md, section 1.
//
// Included after an ISA's vec.h. Two clamps, one conversion to an integer, six FMAs and one integer addition. The
// clamps keep i within [-127, 128], so that adding it to the exponent field of p (2^-0.5 <= p <= 2^0.5) can neither
// wrap nor reach the sign: 128 makes exactly +inf of p = 1, -127 makes exactly +0 of it. Both let a NaN pass. It
// becomes i = INT_MIN (x86) or 0 (Arm); both are 0 once shifted by 23, so the exponent addition leaves the NaN that p
// already is.
#ifndef FOVEA_KERNELS_COMMON_EXP2_H
#define FOVEA_KERNELS_COMMON_EXP2_H

#include "kernels/fault.h"

/// 2^x for x <= 128 or NaN: all that a softmax needs, whose x are at most 0.
static inline fv_f32 fv_exp2_to_128(fv_f32 x)
{
    x = FOVEA_FAULT_IS(EXP2_NO_LOW_CLAMP) ? x : fv_max(fv_set1(-127.0f), x);
    const fv_i32 i = fv_to_int(FOVEA_FAULT_IS(EXP2_TRUNCATES) ? fv_sub(x, fv_copysign(fv_set1(0.5f), x)) : x);
    const fv_f32 r = fv_sub(x, fv_from_int(i));
    fv_f32 p = fv_set1(FOVEA_FAULT_IS(EXP2_DEGREE_5) ? 0.0f : 0x1.41fc1ap-13f);
    p = fv_fma(p, r, fv_set1(0x1.5f3f2cp-10f));
    p = fv_fma(p, r, fv_set1(0x1.3b2dcp-7f));
    p = fv_fma(p, r, fv_set1(0x1.c6aefep-5f));
    p = fv_fma(p, r, fv_set1(0x1.ebfbd8p-3f));
    p = fv_fma(p, r, fv_set1(0x1.62e43p-1f));
    p = fv_fma(p, r, fv_set1(1.0f));
    return fv_add_exponent(p, i);
}

static inline fv_f32 fv_exp2(fv_f32 x)
{
    const fv_f32 hi = fv_set1(128.0f);
    return fv_exp2_to_128(fv_select(fv_gt(x, hi), hi, x));
}

#endif
