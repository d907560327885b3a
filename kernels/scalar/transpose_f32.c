// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/transpose_f32.c - the transpose of a rows x cols block.
#include "kernels/kernel.h"

void fovea_transpose_f32_scalar(size_t rows, size_t cols, float scale, const float *src, ptrdiff_t ld_src, float *dst,
                                ptrdiff_t ld_dst)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            dst[(ptrdiff_t)c * ld_dst + r] = scale * src[(ptrdiff_t)r * ld_src + c];
        }
    }
}
