// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/rmsnorm_f32.c - RMSNorm of one row, the definition (docs/numerics.md section 4).
#include "kernels/kernel.h"
#include "kernels/scalar/norm.h"

void fovea_rmsnorm_f32_scalar(size_t n, float eps, const float *x, const float *gamma, const float *beta, float *y)
{
    scalar_norm_row(n, eps, x, 0.0f, gamma, beta, y);
}
