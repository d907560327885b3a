// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/layernorm_f32.c - LayerNorm of one row, the definition (docs/numerics.md section 4).
#include "kernels/kernel.h"
#include "kernels/scalar/rowsum.h"

void fovea_layernorm_f32_scalar(size_t n, float eps, const float *x, const float *gamma, const float *beta, float *y)
{
    float sum[SCALAR_LANES] = {0.0f};
    for (size_t i = 0; i < n; i++) {
        sum[i % SCALAR_LANES] += x[i];
    }
    const float mean = scalar_lane_sum(sum) / (float)n;

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
