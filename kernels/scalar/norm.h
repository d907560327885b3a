// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/norm.h - a row over the root of its mean square around `mean` (docs/numerics.md section 4).
#ifndef FOVEA_KERNELS_SCALAR_NORM_H
#define FOVEA_KERNELS_SCALAR_NORM_H

#include "kernels/scalar/rowsum.h"

static inline void scalar_norm_row(size_t n, float eps, const float *x, float mean, const float *gamma,
                                   const float *beta, float *y)
{
    float squares[SCALAR_LANES] = {0.0f};
    for (size_t i = 0; i < n; i++) {
        const float d = x[i] - mean;
        squares[i % SCALAR_LANES] = fmaf(d, d, squares[i % SCALAR_LANES]);
    }
    const float variance = scalar_lane_sum(squares) / (float)n;
    const float rstd = 1.0f / sqrtf(variance + eps);

    for (size_t i = 0; i < n; i++) {
        const float d = x[i] - mean;
        const float normal = d * rstd;
        if (gamma && beta) {
            y[i] = fmaf(normal, gamma[i], beta[i]);
        } else if (gamma) {
            y[i] = normal * gamma[i];
        } else if (beta) {
            y[i] = normal + beta[i];
        } else {
            y[i] = normal;
        }
    }
}

#endif
