// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/transpose.h - the 8 x 8 transpose in registers.
//
// Halves of rows are inserted from memory, so the 128-bit lanes are in place before anything is permuted: 16 loads of
// 16 bytes, 8 of them inserts (a load and a blend), then 16 permutations within lanes. The usual way, 8 loads and 24
// permutations, takes 24 cycles on the one permuting port of Intel cores before Ice Lake; this takes 16.
#ifndef FOVEA_KERNELS_AVX2_TRANSPOSE_H
#define FOVEA_KERNELS_AVX2_TRANSPOSE_H

#include "kernels/avx2/vec.h"
#include "kernels/common/unroll.h"

/// column[c], lane r: src[r * ld_src + c] for r < FV_LANES, c < 4.
static inline __attribute__((always_inline)) void fv_transpose_four(const float *src, ptrdiff_t ld_src,
                                                                    fv_f32 column[4])
{
    FV_UNROLL
    for (int r = 0; r < 4; r++) { // each lane of 128 bits has a row
        column[r] = _mm256_castps128_ps256(_mm_loadu_ps(src + r * ld_src));
        column[r] = _mm256_insertf128_ps(column[r], _mm_loadu_ps(src + (4 + r) * ld_src), 1);
    }
    fv_transpose_256(column);
}

/// dst[c * ld_dst + r] = scale * src[r * ld_src + c] for r, c < FV_LANES. All of src is read before any of dst is
/// written, row by row: if rows share a set of L1, not all would stay for a second visit.
static inline void fv_transpose_block(float scale, const float *src, ptrdiff_t ld_src, float *dst, ptrdiff_t ld_dst)
{
    const fv_f32 by = fv_set1(scale);
    __m256 x[4][2]; // x[r][q]: lane l of 128 bits holds the elements 4q .. 4q + 3 of row 4l + r
    FV_UNROLL
    for (int i = 0; i < 8; i++) {
        x[i / 2][i % 2] = _mm256_castps128_ps256(_mm_loadu_ps(src + i / 2 * ld_src + i % 2 * 4));
    }
    FV_UNROLL
    for (int i = 0; i < 8; i++) {
        const __m128 half = _mm_loadu_ps(src + (4 + i / 2) * ld_src + i % 2 * 4);
        x[i / 2][i % 2] = _mm256_insertf128_ps(x[i / 2][i % 2], half, 1);
    }
    // Now two 4 x 4 transposes inside lanes for each q.
    FV_UNROLL
    for (int q = 0; q < 2; q++) {
        const __m256d low01 = _mm256_castps_pd(_mm256_unpacklo_ps(x[0][q], x[1][q]));
        const __m256d high01 = _mm256_castps_pd(_mm256_unpackhi_ps(x[0][q], x[1][q]));
        const __m256d low23 = _mm256_castps_pd(_mm256_unpacklo_ps(x[2][q], x[3][q]));
        const __m256d high23 = _mm256_castps_pd(_mm256_unpackhi_ps(x[2][q], x[3][q]));
        float *const column = dst + 4 * q * ld_dst;
        fv_store(column, fv_mul(by, _mm256_castpd_ps(_mm256_unpacklo_pd(low01, low23))));
        fv_store(column + ld_dst, fv_mul(by, _mm256_castpd_ps(_mm256_unpackhi_pd(low01, low23))));
        fv_store(column + 2 * ld_dst, fv_mul(by, _mm256_castpd_ps(_mm256_unpacklo_pd(high01, high23))));
        fv_store(column + 3 * ld_dst, fv_mul(by, _mm256_castpd_ps(_mm256_unpackhi_pd(high01, high23))));
    }
}

#endif
