// SPDX-License-Identifier: Apache-2.0
// kernels/neon/exp2_f32_1x8.c - 2^x for each element, 8 of them side by side, on NEON.
#define FV_COLUMNS 8
#include "kernels/neon/vec.h"
#include "kernels/common/exp2.h"
#include "kernels/common/unary.h"

void FV_NAME(exp2_f32_1x8)(size_t n, const float *x, float *y)
{
    fv_unary(n, x, y, fv_exp2_each);
}
