// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_f32_4x16.c - a GEMM tile, the definition (docs/numerics.md section 2).
//
// The tile of 4 x 16 is what the blocking above is given; the loops hold for any m and n.
#include "kernels/kernel.h"

#include <math.h>

static void compute(const struct fovea_gemm_tile *tile)
{
    for (size_t i = 0; i < tile->m; i++) {
        for (size_t j = 0; j < tile->n; j++) {
            const float *const a = tile->a + (ptrdiff_t)i * tile->a_row;
            const float *const b = tile->b + (ptrdiff_t)(j / FOVEA_PANEL) * tile->b_panel + j % FOVEA_PANEL;
            float *const c = tile->c + (ptrdiff_t)i * tile->c_row + j;
            float acc = tile->mode == FOVEA_GEMM_ADD ? *c : 0.0f;
            for (size_t p = 0; p < tile->k; p++) {
                acc = fmaf(a[(ptrdiff_t)p * tile->a_k], b[(ptrdiff_t)p * tile->b_k], acc);
            }
            *c = tile->mode == FOVEA_GEMM_RESCALE ? fmaf(*c, tile->scale[j], acc) : acc;
        }
    }
}

void fovea_gemm_f32_4x16_scalar(const struct fovea_gemm_tile *tile)
{
    struct fovea_gemm_tile t = *tile;
    for (size_t i = 0; i <= tile->more; i++) {
        compute(&t);
        t.a += t.a_next;
        t.b += t.b_next;
        t.c += t.c_next;
    }
}
