// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_edge_f32.c - few columns of C, the definition (docs/numerics.md section 2).
#include "kernels/kernel.h"

#include <math.h>

void fovea_gemm_edge_f32_scalar(const struct fovea_gemm_edge_tile *tile)
{
    for (size_t i = 0; i < tile->m; i++) {
        for (size_t j = 0; j < tile->n; j++) {
            float acc = 0;
            for (size_t p = 0; p < tile->k; p++) {
                acc = fmaf(tile->a[(ptrdiff_t)i * tile->a_row + (ptrdiff_t)p],
                           tile->b[(ptrdiff_t)p * tile->b_k + (ptrdiff_t)j], acc);
            }
            tile->c[(ptrdiff_t)i * tile->c_row + (ptrdiff_t)j] = acc;
        }
    }
}
