// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_bn_f32.c - a few steps of few rows of C, the definition (docs/numerics.md section 2).
#include "kernels/kernel.h"

#include <math.h>

void fovea_gemm_bn_f32_scalar(const struct fovea_gemm_bn_tile *tile)
{
    for (size_t i = 0; i < tile->m; i++) {
        for (size_t j = 0; j < tile->n; j++) {
            const float *const a = tile->a + (ptrdiff_t)i * tile->a_row, *const b = tile->b + j;
            float *const c = tile->c + (ptrdiff_t)i * tile->c_row + j;
            float acc = tile->adds ? *c : 0.0f;
            for (size_t p = 0; p < tile->k; p++) {
                acc = fmaf(a[(ptrdiff_t)p * tile->a_k], b[(ptrdiff_t)p * tile->b_row], acc);
            }
            *c = acc;
        }
    }
}
