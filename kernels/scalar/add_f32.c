// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/add_f32.c - z = x + y, the definition.
#include "kernels/kernel.h"

void fovea_add_f32_scalar(size_t n, const float *x, const float *y, float *z)
{
    for (size_t i = 0; i < n; i++) {
        z[i] = x[i] + y[i];
    }
}
