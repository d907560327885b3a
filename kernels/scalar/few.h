// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/few.h - few rows of C times panels of any elements, the definition. Included with FEW_ELEMENT the type
// of elements and FEW_LOAD(panel, p, column) an element as f32.
#ifndef FOVEA_KERNELS_SCALAR_FEW_H
#define FOVEA_KERNELS_SCALAR_FEW_H

#include "kernels/kernel.h"
#include <math.h>

static inline void few_gemm(const struct fovea_gemm_few_tile *tile)
{
    for (size_t i = 0; i < tile->m; i++) {
        for (size_t j = 0; j < tile->n; j++) {
            const float *const a = tile->a + i;
            const FEW_ELEMENT *const b = (const FEW_ELEMENT *)tile->b + (ptrdiff_t)(j / FOVEA_PANEL) * tile->b_panel;
            float acc = tile->adds ? tile->c[(ptrdiff_t)i * tile->c_row + (ptrdiff_t)j] : 0.0f;
            for (size_t p = 0; p < tile->k; p++) {
                acc = fmaf(a[(ptrdiff_t)p * tile->a_k], FEW_LOAD(b, p, j % FOVEA_PANEL), acc);
            }
            tile->c[(ptrdiff_t)i * tile->c_row + (ptrdiff_t)j] = acc;
        }
    }
    for (size_t j = 0; j < tile->n && tile->packed != NULL; j += FOVEA_PANEL) {
        const ptrdiff_t panel = (ptrdiff_t)(j / FOVEA_PANEL);
        const FEW_ELEMENT *const b = (const FEW_ELEMENT *)tile->b + panel * tile->b_panel;
        for (size_t i = 0; i < tile->k * FOVEA_PANEL; i++) {
            tile->packed[panel * tile->packed_panel + (ptrdiff_t)i] = FEW_LOAD(b, i / FOVEA_PANEL, i % FOVEA_PANEL);
        }
    }
}

#endif
