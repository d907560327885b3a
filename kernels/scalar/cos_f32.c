// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/cos_f32.c - y = cos(x), the definition (docs/numerics.md section 1).
#include "kernels/kernel.h"
#include "kernels/scalar/sleef.h"

void fovea_cos_f32_scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = scalar_cos(x[i]);
    }
}
