// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/widen_bf16_f32.c - bfloat16 elements as f32, the definition.
#include "kernels/scalar/half.h"

void fovea_widen_bf16_f32_scalar(size_t n, const uint16_t *src, float *dst)
{
    for (size_t i = 0; i < n; i++) {
        dst[i] = from_bf16(src[i]);
    }
}
