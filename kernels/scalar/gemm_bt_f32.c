// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_bt_f32.c - few rows of A times rows of B, the definition (docs/numerics.md section 2).
#include "kernels/kernel.h"

#include <math.h>

static void pack(const struct fovea_gemm_bt_tile *tile)
{
    for (size_t j = 0; j < (tile->n + FOVEA_PANEL - 1) / FOVEA_PANEL * FOVEA_PANEL; j++) {
        float *const to = tile->packed + (ptrdiff_t)(j / FOVEA_PANEL) * tile->packed_panel + j % FOVEA_PANEL;
        for (size_t p = 0; p < tile->k; p++) {
            to[p * FOVEA_PANEL] = j < tile->n ? tile->b[(ptrdiff_t)j * tile->b_row + (ptrdiff_t)p] : 0.0f;
        }
    }
}

void fovea_gemm_bt_f32_scalar(const struct fovea_gemm_bt_tile *tile)
{
    if (tile->packed != NULL) {
        pack(tile);
    }
    for (size_t i = 0; i < tile->m; i++) {
        for (size_t j = 0; j < tile->n; j++) {
            const float *const a = tile->a + i, *const b = tile->b + (ptrdiff_t)j * tile->b_row;
            float acc = tile->adds ? tile->c[(ptrdiff_t)i * tile->c_row + (ptrdiff_t)j] : 0.0f;
            for (size_t p = 0; p < tile->k; p++) {
                acc = fmaf(a[(ptrdiff_t)p * tile->a_k], b[p], acc);
            }
            tile->c[(ptrdiff_t)i * tile->c_row + (ptrdiff_t)j] = acc;
        }
    }
}
