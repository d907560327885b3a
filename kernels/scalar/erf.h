// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/erf.h - erf(x), the definition of docs/numerics.md section 5.
#ifndef FOVEA_KERNELS_SCALAR_ERF_H
#define FOVEA_KERNELS_SCALAR_ERF_H

#include "kernels/scalar/exp2.h"

#include <math.h>
#include <stddef.h>

/// erf(x): at most 1.29 ulp, odd (erf(-0) = -0), exactly 1 in magnitude from 3.9202 on, NaN for NaN.
static inline float scalar_erf(float x)
{
    static const float near[] = {-0x1.4694dep-11f, 0x1.4a26aap-8f,  -0x1.b704dcp-6f,
                                 0x1.ce2268p-4f,   -0x1.812714p-2f, 0x1.06eba8p-3f};
    static const float far[] = {0x1.44f4cap-12f, -0x1.309db4p-8f, 0x1.0eca02p-5f,
                                -0x1.371d46p-3f, -0x1.d58f44p-1f, -0x1.a0cc12p+0f};
    const float magnitude = fabsf(x);
    if (magnitude < 0.875f) {
        const float square = x * x;
        float p = near[0];
        for (size_t i = 1; i < sizeof near / sizeof *near; i++) {
            p = fmaf(p, square, near[i]);
        }
        return fmaf(p, x, x);
    }
    const float t = magnitude > 4.0f ? 4.0f : magnitude;
    float p = far[0];
    for (size_t i = 1; i < sizeof far / sizeof *far; i++) {
        p = fmaf(p, t, far[i]);
    }
    return copysignf(1.0f - scalar_exp2(p * t), x);
}

#endif
