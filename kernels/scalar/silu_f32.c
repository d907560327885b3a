// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/silu_f32.c - y = x / (1 + exp(-x)), the definition (docs/numerics.md section 5).
#include "kernels/kernel.h"
#include "kernels/scalar/activation.h"

void fovea_silu_f32_scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = scalar_silu(x[i]);
    }
}
