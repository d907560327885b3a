// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/tanh_f32.c - y = tanh(x), the definition (docs/numerics.md section 1).
#include "kernels/kernel.h"
#include "kernels/scalar/sleef.h"

void fovea_tanh_f32_scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = scalar_tanh(x[i]);
    }
}
