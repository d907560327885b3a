// SPDX-License-Identifier: Apache-2.0
// kernels/common/erf.h - erf of a vector: the fixed sequence of docs/numerics.md, section 5.
//
// Included after an ISA's vec.h. Both ranges are computed for all lanes, and one is selected: 25 to 30 operations and
// no branch. The unused range of a lane may overflow or be NaN, which is harmless. A NaN is not below 0.875, so it
// takes the exponential range, which propagates it.
#ifndef FOVEA_KERNELS_COMMON_ERF_H
#define FOVEA_KERNELS_COMMON_ERF_H

#include "kernels/common/exp2.h"
#include "kernels/fault.h"

/// erf of n vectors of magnitudes, x >= 0 or NaN; n is a constant of at most 8. The vectors are processed side by side,
/// and both ranges: below 0.875 x + x * P(x^2), from there on 1 - 2^(t * Q(t)) with t = min(x, 4), where t * Q(t) is
/// within [-27, 0].
static inline __attribute__((always_inline)) void fv_erf_magnitude_each(fv_f32 *x, int n)
{
    const float near_first = -0x1.4694dep-11f, far_first = 0x1.44f4cap-12f;
    static const fv_term near[] = {FV_TERM(0x1.4a26aap-8f), FV_TERM(-0x1.b704dcp-6f), FV_TERM(0x1.ce2268p-4f),
                                   FV_TERM(-0x1.812714p-2f), FV_TERM(0x1.06eba8p-3f)};
    static const fv_term far[] = {FV_TERM(-0x1.309db4p-8f), FV_TERM(0x1.0eca02p-5f), FV_TERM(-0x1.371d46p-3f),
                                  FV_TERM(-0x1.d58f44p-1f), FV_TERM(-0x1.a0cc12p+0f)};
    fv_f32 square[8], p[8], t[8], q[8];
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        square[j] = fv_mul(x[j], x[j]);
        t[j] = fv_at_most(x[j], FOVEA_FAULT_IS(ERF_NO_CLAMP) ? 16.0f : 4.0f);
        p[j] = fv_set1(near_first);
        q[j] = fv_set1(far_first);
    }
    FV_UNROLL
    for (int c = 0; c < 5; c++) {
        FV_UNROLL
        for (int j = 0; j < n; j++) {
            p[j] = fv_fma_term(p[j], square[j], &near[c]);
            q[j] = fv_fma_term(q[j], t[j], &far[c]);
        }
    }
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        p[j] = fv_fma(p[j], x[j], x[j]);
        q[j] = fv_mul(q[j], t[j]);
    }
    fv_exp2_normal_each(q, n);
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        x[j] = fv_sub_from(x[j], 0.875f, fv_set1(1.0f), q[j], p[j]);
    }
}

#endif
