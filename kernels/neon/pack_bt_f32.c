// SPDX-License-Identifier: Apache-2.0
// kernels/neon/pack_bt_f32.c - packs B, given transposed (n x k), into panels of 16 columns.
#include "kernels/neon/transpose.h"

void fovea_pack_bt_f32_neon(size_t k, size_t n, const float *src, ptrdiff_t ld, float *dst, ptrdiff_t dst_panel)
{
    for (size_t j = 0; j < n; j += FOVEA_PANEL, src += FOVEA_PANEL * ld, dst += dst_panel) {
        const size_t columns = n - j < FOVEA_PANEL ? n - j : FOVEA_PANEL;
        for (size_t p = 0; p < k; p += FOVEA_PANEL) {
            const size_t steps = k - p < FOVEA_PANEL ? k - p : FOVEA_PANEL;
            float *const tile = dst + p * FOVEA_PANEL;
            transpose_tile(columns, steps, 1.0f, src + p, ld, tile, FOVEA_PANEL);
            for (size_t i = 0; i < steps * FOVEA_PANEL; i += FOVEA_PANEL) {
                for (size_t column = columns; column < FOVEA_PANEL; column++) {
                    tile[i + column] = 0.0f;
                }
            }
        }
    }
}
