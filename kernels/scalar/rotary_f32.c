// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/rotary_f32.c - rotary positions, the definition.
#include "kernels/kernel.h"

void fovea_rotary_f32_scalar(size_t n, uint32_t adjacent, const float *x, const float *cos, const float *sin, float *y)
{
    const size_t step = adjacent ? 2 : 1, apart = adjacent ? 1 : n;
    for (size_t i = 0; i < n; i++) {
        const float a = x[i * step], b = x[i * step + apart];
        y[i * step] = a * cos[i] - b * sin[i];
        y[i * step + apart] = b * cos[i] + a * sin[i];
    }
}
