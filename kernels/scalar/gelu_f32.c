// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gelu_f32.c - y = x * Phi(x) by erf, the definition (docs/numerics.md section 5).
#include "kernels/kernel.h"
#include "kernels/scalar/activation.h"

void fovea_gelu_f32_scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = scalar_gelu(x[i]);
    }
}
