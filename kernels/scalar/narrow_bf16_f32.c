// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/narrow_bf16_f32.c - f32 as bfloat16 elements, the definition.
#include "kernels/scalar/half.h"

void fovea_narrow_bf16_f32_scalar(size_t n, const float *src, uint16_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        dst[i] = to_bf16(src[i]);
    }
}
