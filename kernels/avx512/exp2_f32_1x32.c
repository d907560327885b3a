// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/exp2_f32_1x32.c - 2^x for each element, 32 of them side by side, on AVX-512.
#define FV_COLUMNS 32
#include "kernels/avx512/vec.h"
#include "kernels/common/exp2.h"
#include "kernels/common/unary.h"

void FV_NAME(exp2_f32_1x32)(size_t n, const float *x, float *y)
{
    fv_unary(n, x, y, fv_exp2_each);
}
