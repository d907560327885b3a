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

/// erf of n vectors, n a constant of at most 8, step by step side by side, both ranges: below 0.875 in magnitude
/// x + x * P(x^2), from there on 1 - 2^(t * Q(t)) with t = min(|x|, 4), where Q is below 0.
static inline __attribute__((always_inline)) void fv_erf_each(fv_f32 *x, int n)
{
    static const float near[] = {-0x1.4694dep-11f, 0x1.4a26aap-8f,  -0x1.b704dcp-6f,
                                 0x1.ce2268p-4f,   -0x1.812714p-2f, 0x1.06eba8p-3f};
    static const float far[] = {0x1.44f4cap-12f, -0x1.309db4p-8f, 0x1.0eca02p-5f,
                                -0x1.371d46p-3f, -0x1.d58f44p-1f, -0x1.a0cc12p+0f};
    const fv_f32 end = fv_set1(FOVEA_FAULT_IS(ERF_NO_CLAMP) ? 16.0f : 4.0f);
    fv_f32 square[8], p[8], t[8], q[8];
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        const fv_f32 magnitude = fv_abs(x[j]);
        square[j] = fv_mul(x[j], x[j]);
        t[j] = fv_select(fv_gt(magnitude, end), end, magnitude);
        p[j] = fv_set1(near[0]);
        q[j] = fv_set1(far[0]);
    }
    FV_UNROLL
    for (int c = 1; c < 6; c++) {
        FV_UNROLL
        for (int j = 0; j < n; j++) {
            p[j] = fv_fma(p[j], square[j], fv_set1(near[c]));
            q[j] = fv_fma(q[j], t[j], fv_set1(far[c]));
        }
    }
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        p[j] = fv_fma(p[j], x[j], x[j]);
        q[j] = fv_mul(q[j], t[j]);
    }
    fv_exp2_to_128_each(q, n);
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        const fv_mask is_near = fv_lt(fv_abs(x[j]), fv_set1(0.875f));
        x[j] = fv_select(is_near, p[j], fv_copysign(fv_sub(fv_set1(1.0f), q[j]), x[j]));
    }
}

#endif
