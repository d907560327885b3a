// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gelu_f32_1x8.c - GELU by erf for each element, 8 of them side by side, on NEON.
#define FV_COLUMNS 8
#include "kernels/neon/vec.h"
#include "kernels/common/activation.h"

void FV_NAME(gelu_f32_1x8)(size_t n, const float *x, float *y)
{
    fv_unary(n, x, y, fv_gelu_each);
}
