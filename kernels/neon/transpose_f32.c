// SPDX-License-Identifier: Apache-2.0
// kernels/neon/transpose_f32.c - the transpose of a rows x cols block, tile by tile.
#include "kernels/neon/transpose.h"

void fovea_transpose_f32_neon(size_t rows, size_t cols, float scale, const float *src, ptrdiff_t ld_src, float *dst,
                              ptrdiff_t ld_dst)
{
    for (size_t r = 0; r < rows; r += FOVEA_PANEL) {
        const size_t tile_rows = rows - r < FOVEA_PANEL ? rows - r : FOVEA_PANEL;
        for (size_t c = 0; c < cols; c += FOVEA_PANEL) {
            const size_t tile_cols = cols - c < FOVEA_PANEL ? cols - c : FOVEA_PANEL;
            transpose_tile(tile_rows, tile_cols, scale, src + (ptrdiff_t)r * ld_src + c, ld_src,
                           dst + (ptrdiff_t)c * ld_dst + r, ld_dst);
        }
    }
}
