// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/transpose.h - the 16 x 16 transpose in registers.
//
// Halves of rows are joined while they are loaded: 32 loads of 32 bytes, 16 of them inserts (a load and a blend on
// either vector port), then 48 permutations. The usual way, 16 loads and 64 permutations, is limited by Intel's single
// permuting port: on Cascade Lake a quarter slower from L1, and equal from L2.
#ifndef FOVEA_KERNELS_AVX512_TRANSPOSE_H
#define FOVEA_KERNELS_AVX512_TRANSPOSE_H

#include "kernels/avx512/vec.h"
#include "kernels/common/unroll.h"
#include "kernels/fault.h"

/// Transposes the 4 x 4 matrix in rows x[0..3], in each 128-bit lane.
static inline void fv_transpose_lanes(__m512 x[4])
{
    const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(x[0], x[1]));
    const __m512d high01 = _mm512_castps_pd(_mm512_unpackhi_ps(x[0], x[1]));
    const __m512d low23 = _mm512_castps_pd(_mm512_unpacklo_ps(x[2], x[3]));
    const __m512d high23 = _mm512_castps_pd(_mm512_unpackhi_ps(x[2], x[3]));
    x[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23));
    x[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23));
    x[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23));
    x[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23));
}

/// A 16 x 16 block half-way: x[g][h][r] has the elements 8h .. 8h + 7 of row 8g + r, then those of row 8g + 4 + r.
struct fv_transpose_rows {
    __m512 x[2][2][4];
};

/// The address of row r. For rows past the last one, that of the last row.
static inline const float *fv_transpose_row(const float *src, ptrdiff_t ld, int r, int last)
{
    return src + (ptrdiff_t)(r < last ? r : last) * ld;
}

#ifdef FV_HALVES // kernels/common/variant.h
#define FV_TRANSPOSE_FOURS 1
#else
#define FV_TRANSPOSE_FOURS 0
#endif

/// Reads row by row, halves [first, end) of each: if 16 rows share a set of an 8-way L1, not all would stay for a
/// second visit. With FV_TRANSPOSE_FOURS the addresses of 16 whole rows are four pointers and up to three strides;
/// otherwise gcc adds up seven more multiples of the stride and keeps them in vector registers. Zen 4, one row of
/// queries against keys of 64 in L2, 1.07 times as fast; other cores and kernels have not been measured.
static inline __attribute__((always_inline)) void
fv_transpose_load_halves(const float *src, ptrdiff_t ld, int last, int first, int end, struct fv_transpose_rows *rows)
{
    const int fours = FV_TRANSPOSE_FOURS && __builtin_constant_p(last) && last == FV_LANES - 1;
    FV_UNROLL
    for (int i = 0; i < FV_LANES; i += 4) {
        __m512(*const x)[4] = rows->x[i / 8];
        const float *of_four = fv_transpose_row(src, ld, i, last);
        if (fours) {
            __asm__("" : "+r"(of_four));
        }
        FV_UNROLL
        for (int r = 0; r < 4; r++) {
            const float *const row = fours ? of_four + r * ld : fv_transpose_row(src, ld, i + r, last);
            FV_UNROLL
            for (int h = first; h < end; h++) {
                x[h][r] = i % 8 == 0 ? _mm512_castps256_ps512(_mm256_loadu_ps(row + 8 * h))
                                     : _mm512_insertf32x8(x[h][r], _mm256_loadu_ps(row + 8 * h), 1);
            }
        }
    }
}

static inline __attribute__((always_inline)) void fv_transpose_load(const float *src, ptrdiff_t ld, int last,
                                                                    struct fv_transpose_rows *rows)
{
    fv_transpose_load_halves(src, ld, last, 0, 2, rows);
}

/// Column c < 8 of 16 rows of eight elements: the transposed lanes of low[c] and high[c] contain column c of four rows,
/// column 4 + c of these, and both again of the next four.
static inline __attribute__((always_inline)) __m512 fv_transpose_column(const __m512 *low, const __m512 *high, int c)
{
    return c < 4 ? _mm512_shuffle_f32x4(low[c], high[c], _MM_SHUFFLE(2, 0, 2, 0))
                 : _mm512_shuffle_f32x4(low[c - 4], high[c - 4], _MM_SHUFFLE(3, 1, 3, 1));
}

/// Makes columns 8h .. 8h + 7; each may be used once.
static inline __attribute__((always_inline)) void fv_transpose_columns(struct fv_transpose_rows *rows, int h,
                                                                       __m512 columns[8])
{
    __m512 *const low = rows->x[0][h], *const high = rows->x[1][h];
    fv_transpose_lanes(low);
    fv_transpose_lanes(high);
    FV_UNROLL
    for (int c = 0; c < 4; c++) {
        columns[c] = fv_transpose_column(low, high, c);
        columns[4 + c] = fv_transpose_column(low, high, 4 + c);
    }
}

/// dst[c * ld_dst + r] = scale * src[r * ld_src + c] for r, c < FV_LANES.
static inline void fv_transpose_block(float scale, const float *src, ptrdiff_t ld_src, float *dst, ptrdiff_t ld_dst)
{
    const fv_f32 by = fv_set1(scale);
    struct fv_transpose_rows rows;
    fv_transpose_load(src, ld_src, FV_LANES - 1, &rows);
    FV_UNROLL
    for (int h = 0; h < 2; h++) {
        __m512 columns[8];
        fv_transpose_columns(&rows, h, columns);
        FV_UNROLL
        for (int c = 0; c < 8; c++) {
            fv_store(dst + (8 * h + c) * ld_dst, fv_mul(by, columns[c]));
        }
    }
}

/// The same for c < 8.
#define FV_TRANSPOSE_FLAT 8
static inline void fv_transpose_flat(float scale, const float *src, ptrdiff_t ld_src, float *dst, ptrdiff_t ld_dst)
{
    const fv_f32 by = fv_set1(scale);
    struct fv_transpose_rows rows;
    __m512 columns[8];
    fv_transpose_load_halves(src, ld_src, FV_LANES - 1, 0, 1, &rows);
    fv_transpose_columns(&rows, 0, columns);
    FV_UNROLL
    for (int c = 0; c < 8; c++) {
        fv_store(dst + c * ld_dst, fv_mul(by, columns[c]));
    }
}

/// Transposes 16 columns of fewer rows, 1 <= rows < FV_LANES; no row past the last one is read. With `pads` whole
/// vectors are stored, with +0 past the rows.
#define FV_TRANSPOSE_FEW
static inline void fv_transpose_few(size_t rows, float scale, const float *src, ptrdiff_t ld_src, float *dst,
                                    ptrdiff_t ld_dst, int pads)
{
    const fv_f32 by = fv_set1(scale);
    const fv_mask there = fv_mask_first(rows), all = fv_mask_first(FV_LANES);
    const fv_mask stored = pads || FOVEA_FAULT_IS(TRANSPOSE_TAIL) ? all : there;
    struct fv_transpose_rows of;
    fv_transpose_load(src, ld_src, (int)rows - 1, &of);
    FV_UNROLL
    for (int h = 0; h < 2; h++) {
        __m512 columns[8];
        fv_transpose_columns(&of, h, columns);
        FV_UNROLL
        for (int c = 0; c < 8; c++) {
            _mm512_mask_storeu_ps(dst + (8 * h + c) * ld_dst, stored, _mm512_maskz_mul_ps(there, by, columns[c]));
        }
    }
}

#endif
