// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/relu_f32.c - y = max(x, 0), the definition (docs/numerics.md section 1).
#include "kernels/kernel.h"
#include "kernels/scalar/activation.h"

void fovea_relu_f32_scalar(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = scalar_relu(x[i]);
    }
}
