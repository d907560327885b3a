// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gelu_f32_1x32.c - GELU by erf for each element, 32 of them side by side, on AVX2.
#define FV_COLUMNS 32
#include "kernels/avx2/vec.h"
#include "kernels/common/activation.h"

void FV_NAME(gelu_f32_1x32)(size_t n, const float *x, float *y)
{
    fv_unary(n, x, y, fv_gelu_each);
}
