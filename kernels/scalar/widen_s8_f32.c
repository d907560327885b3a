// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/widen_s8_f32.c - 8-bit integers times their scales, the definition.
#include "kernels/kernel.h"

void fovea_widen_s8_f32_scalar(size_t k, const uint8_t *q, const float *scale, float *dst)
{
    for (size_t i = 0; i < k * FOVEA_PANEL; i++) {
        dst[i] = (float)(q[i] - 128) * scale[i % FOVEA_PANEL];
    }
}
