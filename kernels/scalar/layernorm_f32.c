// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/layernorm_f32.c - LayerNorm of one row, the definition (docs/numerics.md section 4).
#include "kernels/kernel.h"
#include "kernels/scalar/norm.h"

void fovea_layernorm_f32_scalar(size_t n, float eps, const float *x, const float *gamma, const float *beta, float *y)
{
    float sum[SCALAR_LANES] = {0.0f};
    for (size_t i = 0; i < n; i++) {
        sum[i % SCALAR_LANES] += x[i];
    }
    scalar_norm_row(n, eps, x, scalar_lane_sum(sum) / (float)n, gamma, beta, y);
}
