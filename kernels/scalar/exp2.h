// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/exp2.h - 2^x, the definition of docs/numerics.md section 1.
#ifndef FOVEA_KERNELS_SCALAR_EXP2_H
#define FOVEA_KERNELS_SCALAR_EXP2_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// log2(e) rounded to f32: exp(x) is taken as exp2(x * ln2e).
static const float scalar_ln2e = 0x1.715476p+0f;

/// 2^x: at most 0.80 ulp for -126 <= x < 128, exactly 1 at 0, +0 at and below -127, +inf from 128, NaN for NaN.
static inline float scalar_exp2(float x)
{
    static const float coefficient[] = {0x1.41fc1ap-13f, 0x1.5f3f2cp-10f, 0x1.3b2dcp-7f, 0x1.c6aefep-5f,
                                        0x1.ebfbd8p-3f,  0x1.62e43p-1f,   1.0f};
    if (isnan(x)) {
        return x; // converting a NaN to an integer would be undefined
    }
    const float clamped = x > 128.0f ? 128.0f : x < -127.0f ? -127.0f : x;
    const float nearest = nearbyintf(clamped); // ties to even
    const float r = clamped - nearest;
    float p = coefficient[0];
    for (size_t i = 1; i < sizeof coefficient / sizeof *coefficient; i++) {
        p = fmaf(p, r, coefficient[i]);
    }
    uint32_t bits;
    memcpy(&bits, &p, sizeof bits);
    bits += (uint32_t)(int32_t)nearest << 23;
    memcpy(&p, &bits, sizeof p);
    return p;
}

#endif
