// SPDX-License-Identifier: Apache-2.0
// kernels/common/transpose.h - the transpose of any matrix, in register blocks of FV_LANES x FV_LANES.
//
// Included after an ISA's transpose.h, which defines the block.
#ifndef FOVEA_KERNELS_COMMON_TRANSPOSE_H
#define FOVEA_KERNELS_COMMON_TRANSPOSE_H

#include "kernels/fault.h"

/// A block at the edge, rows and cols <= FV_LANES, goes through two blocks on the stack, so that nothing beyond it is
/// touched. Fewer rows with all columns use the ISA's fv_transpose_few(), if it defines FV_TRANSPOSE_FEW.
static inline void fv_transpose_edge(size_t rows, size_t cols, float scale, const float *src, ptrdiff_t ld_src,
                                     float *dst, ptrdiff_t ld_dst)
{
#ifdef FV_TRANSPOSE_FEW
    if (cols == FV_LANES && rows < FV_LANES) {
        fv_transpose_few(rows, scale, src, ld_src, dst, ld_dst, 0);
        return;
    }
#endif
    float in[FV_LANES * FV_LANES], out[FV_LANES * FV_LANES];
    for (size_t r = 0; r < FV_LANES; r++) {
        fv_store(in + r * FV_LANES, r < rows ? fv_load_tail(src + (ptrdiff_t)r * ld_src, cols) : fv_zero());
    }
    fv_transpose_block(scale, in, FV_LANES, out, FV_LANES);
    for (size_t c = 0; c < cols; c++) {
        const size_t live = FOVEA_FAULT_IS(TRANSPOSE_TAIL) ? cols : rows;
        fv_store_tail(dst + (ptrdiff_t)c * ld_dst, fv_load(out + c * FV_LANES), live);
    }
}

// An ISA whose blocks write more rows than a set of L1 has ways also has a block of fewer columns: fv_transpose_flat().
#ifndef FV_TRANSPOSE_FLAT
#define FV_TRANSPOSE_FLAT FV_LANES
#define fv_transpose_flat fv_transpose_block
#endif

/// fv_transpose() for rows of dst that are further apart than those of src: a few rows of dst at a time, all of their
/// columns. Rows of dst a multiple of 4 KiB apart, such as the outputs of 16 heads of 64 or 8 of 128, alias in one set
/// of L1, whose 8 or 12 lines were evicted before they were complete (AVX-512, Zen 5: 240 cycles for 16 x 16 elements,
/// now 70; S = 128 of 16 heads 1.07 times as fast, 32 tokens of 8 heads of 128 1.21).
static inline void fv_transpose_apart(size_t rows, size_t cols, float scale, const float *src, ptrdiff_t ld_src,
                                      float *dst, ptrdiff_t ld_dst)
{
    for (size_t c = 0, width; c < cols; c += width) {
        width = cols - c < FV_TRANSPOSE_FLAT ? cols - c : FV_TRANSPOSE_FLAT;
        for (size_t r = 0; r < rows; r += FV_LANES) {
            const float *const from = src + (ptrdiff_t)r * ld_src + c;
            float *const to = dst + (ptrdiff_t)c * ld_dst + r;
            const size_t height = rows - r < FV_LANES ? rows - r : FV_LANES;
            if (height == FV_LANES && width == FV_TRANSPOSE_FLAT) {
                fv_transpose_flat(scale, from, ld_src, to, ld_dst);
            } else {
                fv_transpose_edge(height, width, scale, from, ld_src, to, ld_dst);
            }
        }
    }
}

/// The most rows of src of which L1 can keep a line each until all of it is read.
enum { TRANSPOSE_ROWS_KEPT = 256 };

/// dst[c * ld_dst + r] = scale * src[r * ld_src + c] for r < rows, c < cols. Works in bands of 16 rows: whatever
/// FV_LANES is, the cache lines of both sides are used up while they are in L1.
static inline void fv_transpose(size_t rows, size_t cols, float scale, const float *src, ptrdiff_t ld_src, float *dst,
                                ptrdiff_t ld_dst)
{
    if (ld_dst > ld_src && rows <= TRANSPOSE_ROWS_KEPT) {
        fv_transpose_apart(rows, cols, scale, src, ld_src, dst, ld_dst);
        return;
    }
    for (size_t band = 0; band < rows; band += 16) {
        for (size_t c = 0; c < cols; c += FV_LANES) {
            for (size_t r = band; r < band + 16 && r < rows; r += FV_LANES) {
                const float *const from = src + (ptrdiff_t)r * ld_src + c;
                float *const to = dst + (ptrdiff_t)c * ld_dst + r;
                const size_t height = rows - r, width = cols - c;
                if (height >= FV_LANES && width >= FV_LANES) {
                    fv_transpose_block(scale, from, ld_src, to, ld_dst);
                } else {
                    fv_transpose_edge(height < FV_LANES ? height : FV_LANES, width < FV_LANES ? width : FV_LANES, scale,
                                      from, ld_src, to, ld_dst);
                }
            }
        }
    }
}

#endif
