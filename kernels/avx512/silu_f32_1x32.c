// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/silu_f32_1x32.c - SiLU for each element, 32 of them side by side, on AVX-512.
#define FV_COLUMNS 32
#include "kernels/avx512/vec.h"
#include "kernels/common/activation.h"

void FV_NAME(silu_f32_1x32)(size_t n, const float *x, float *y)
{
    fv_unary(n, x, y, fv_silu_each);
}
