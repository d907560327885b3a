// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/exp2_f32.c - y = 2^x, the definition (docs/numerics.md section 1).
#include "kernels/kernel.h"
#include "kernels/scalar/exp2.h"

void fovea_exp2_f32_scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = scalar_exp2(x[i]);
    }
}
