// SPDX-License-Identifier: Apache-2.0
// kernels/neon/transpose.h - the transpose of a tile of at most 16 x 16, in 4 x 4 register blocks.
//
// A tile is at most 16 cache lines on each side, so its lines are used up while they are in L1. Only four rows are read
// together, which a 4-way L1 (Neoverse) can hold even if the row stride maps them all to one set.
#ifndef FOVEA_KERNELS_NEON_TRANSPOSE_H
#define FOVEA_KERNELS_NEON_TRANSPOSE_H

#include "kernels/neon/vec.h"

/// dst[c * ld_dst + r] = scale * src[r * ld_src + c] for r, c < 4: 4 loads, 8 permutations, 4 stores.
static inline void transpose_4x4(float scale, const float *src, ptrdiff_t ld_src, float *dst, ptrdiff_t ld_dst)
{
    const float32x4_t r0 = vld1q_f32(src);
    const float32x4_t r1 = vld1q_f32(src + ld_src);
    const float32x4_t r2 = vld1q_f32(src + 2 * ld_src);
    const float32x4_t r3 = vld1q_f32(src + 3 * ld_src);
    // Pairs of rows: r0[0] r1[0] r0[2] r1[2], then the odd lanes. Then pairs of pairs.
    const float64x2_t even01 = vreinterpretq_f64_f32(vtrn1q_f32(r0, r1));
    const float64x2_t odd01 = vreinterpretq_f64_f32(vtrn2q_f32(r0, r1));
    const float64x2_t even23 = vreinterpretq_f64_f32(vtrn1q_f32(r2, r3));
    const float64x2_t odd23 = vreinterpretq_f64_f32(vtrn2q_f32(r2, r3));
    vst1q_f32(dst, vmulq_n_f32(vreinterpretq_f32_f64(vtrn1q_f64(even01, even23)), scale));
    vst1q_f32(dst + ld_dst, vmulq_n_f32(vreinterpretq_f32_f64(vtrn1q_f64(odd01, odd23)), scale));
    vst1q_f32(dst + 2 * ld_dst, vmulq_n_f32(vreinterpretq_f32_f64(vtrn2q_f64(even01, even23)), scale));
    vst1q_f32(dst + 3 * ld_dst, vmulq_n_f32(vreinterpretq_f32_f64(vtrn2q_f64(odd01, odd23)), scale));
}

/// dst[c * ld_dst + r] = scale * src[r * ld_src + c] for r < rows <= 16, c < cols <= 16. Rows and columns beyond the
/// last whole block of 4 go element by element.
static inline void transpose_tile(size_t rows, size_t cols, float scale, const float *src, ptrdiff_t ld_src, float *dst,
                                  ptrdiff_t ld_dst)
{
    const size_t rows4 = rows - rows % 4, cols4 = cols - cols % 4;
    for (size_t r = 0; r < rows4; r += 4) {
        for (size_t c = 0; c < cols4; c += 4) {
            transpose_4x4(scale, src + (ptrdiff_t)r * ld_src + c, ld_src, dst + (ptrdiff_t)c * ld_dst + r, ld_dst);
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = r < rows4 ? cols4 : 0; c < cols; c++) {
            dst[(ptrdiff_t)c * ld_dst + r] = scale * src[(ptrdiff_t)r * ld_src + c];
        }
    }
}

#endif
