// SPDX-License-Identifier: Apache-2.0
// kernels/neon/pack_b_f32.c - packs B, given in rows (k x n), into panels of 16 columns.
#include "kernels/neon/vec.h"

void fovea_pack_b_f32_neon(size_t k, size_t n, const float *src, ptrdiff_t ld, float *dst, ptrdiff_t dst_panel)
{
    size_t j = 0;
    for (; j + FOVEA_PANEL <= n; j += FOVEA_PANEL, dst += dst_panel) {
        for (size_t p = 0; p < k; p++) {
            const float *const row = src + (ptrdiff_t)p * ld + j;
            for (size_t column = 0; column < FOVEA_PANEL; column += FV_LANES) {
                fv_store(dst + p * FOVEA_PANEL + column, fv_load(row + column));
            }
        }
    }
    if (j == n) {
        return;
    }
    for (size_t p = 0; p < k; p++) {
        const float *const row = src + (ptrdiff_t)p * ld + j;
        for (size_t column = 0; column < FOVEA_PANEL; column += FV_LANES) {
            const size_t left = n - j > column ? n - j - column : 0;
            const fv_f32 v = left < FV_LANES ? fv_load_tail(row + column, left) : fv_load(row + column);
            fv_store(dst + p * FOVEA_PANEL + column, v);
        }
    }
}
