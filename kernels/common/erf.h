// SPDX-License-Identifier: Apache-2.0
// kernels/common/erf.h - erf of a vector: the fixed sequence of docs/numerics.md, section 5.
//
// Included after an ISA's vec.h. Both ranges are computed for all lanes and one is selected: about 35 operations and no
// branch. A lane's unused range may overflow or be NaN, which harms nothing. A NaN fails both comparisons, so it takes
// the exponential, which passes it on.
#ifndef FOVEA_KERNELS_COMMON_ERF_H
#define FOVEA_KERNELS_COMMON_ERF_H

#include "kernels/common/exp2.h"
#include "kernels/fault.h"

/// erf below 0.875 in magnitude: x + x * P(x^2).
static inline fv_f32 fv_erf_near(fv_f32 x)
{
    const fv_f32 square = fv_mul(x, x);
    fv_f32 p = fv_set1(-0x1.4694dep-11f);
    p = fv_fma(p, square, fv_set1(0x1.4a26aap-8f));
    p = fv_fma(p, square, fv_set1(-0x1.b704dcp-6f));
    p = fv_fma(p, square, fv_set1(0x1.ce2268p-4f));
    p = fv_fma(p, square, fv_set1(-0x1.812714p-2f));
    p = fv_fma(p, square, fv_set1(0x1.06eba8p-3f));
    return fv_fma(p, x, x);
}

/// |erf| from 0.875 on: 1 - 2^(t * P(t)) with t = min(|x|, 4), where P is below 0.
static inline fv_f32 fv_erf_far(fv_f32 magnitude)
{
    const fv_f32 end = fv_set1(FOVEA_FAULT_IS(ERF_NO_CLAMP) ? 16.0f : 4.0f);
    const fv_f32 t = fv_select(fv_gt(magnitude, end), end, magnitude);
    fv_f32 p = fv_set1(0x1.44f4cap-12f);
    p = fv_fma(p, t, fv_set1(-0x1.309db4p-8f));
    p = fv_fma(p, t, fv_set1(0x1.0eca02p-5f));
    p = fv_fma(p, t, fv_set1(-0x1.371d46p-3f));
    p = fv_fma(p, t, fv_set1(-0x1.d58f44p-1f));
    p = fv_fma(p, t, fv_set1(-0x1.a0cc12p+0f));
    return fv_sub(fv_set1(1.0f), fv_exp2_to_128(fv_mul(p, t)));
}

static inline fv_f32 fv_erf(fv_f32 x)
{
    const fv_f32 magnitude = fv_abs(x);
    const fv_mask is_near = fv_lt(magnitude, fv_set1(0.875f));
    return fv_select(is_near, fv_erf_near(x), fv_copysign(fv_erf_far(magnitude), x));
}

#endif
