// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/pack_b_f32.c - packs B, given in rows (k x n), into panels of 16 columns.
#include "kernels/kernel.h"

void fovea_pack_b_f32_scalar(size_t k, size_t n, const float *src, ptrdiff_t ld, float *dst, ptrdiff_t dst_panel)
{
    for (size_t panel = 0; panel * FOVEA_PANEL < n; panel++) {
        for (size_t p = 0; p < k; p++) {
            for (size_t column = 0; column < FOVEA_PANEL; column++) {
                const size_t j = panel * FOVEA_PANEL + column;
                dst[(ptrdiff_t)panel * dst_panel + p * FOVEA_PANEL + column] =
                    j < n ? src[(ptrdiff_t)p * ld + j] : 0.0f;
            }
        }
    }
}
