// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/beside_rows.h - more rows of A against 16 rows of B than registers hold beside the transpose.
//
// A block of 16 x 16 is transposed to the stack while the one before it is multiplied: its loads and shuffles are for
// ports that FMAs leave idle, and its lines may be late. Zen 5, against one after the other, B from memory: 7 rows 1.18
// to 1.22 times as fast, 8 rows 1.05 to 1.1, 9 to 16 rows 1.02 to 1.08. (Two panels at a time, so that an element of A
// is one load for two FMAs, in halves of eight rows, 1.1 from L2 and L3 but 0.8 to 0.95 from memory: 32 rows of B.)
#ifndef FOVEA_KERNELS_AVX512_BESIDE_ROWS_H
#define FOVEA_KERNELS_AVX512_BESIDE_ROWS_H

#include "kernels/avx512/transpose.h"
#include "kernels/fault.h"

#define FV_BESIDE_ROWS 1

/// A step of a block for M rows of A.
static inline __attribute__((always_inline)) void fv_beside_step(const float *block, const float *a, fv_f32 *acc, int M)
{
    const fv_f32 b = fv_load(block);
    FV_UNROLL
    for (int i = 0; i < M; i++) {
        const fv_f32 ai = fv_set1(a[i]);
        acc[i] = FOVEA_FAULT_IS(GEMM_BT_MUL_ADD) ? fv_add(fv_mul(ai, b), acc[i]) : fv_fma(ai, b, acc[i]);
    }
}

/// Elements 8h to 8h + 7 of rows r and r + 4 of the eight at b.
static inline __attribute__((always_inline)) __m512 fv_beside_load(const float *b, ptrdiff_t b_row, int r)
{
    const __m256 first = _mm256_loadu_ps(b + r * b_row);
    return _mm512_insertf32x8(_mm512_castps256_ps512(first), _mm256_loadu_ps(b + (r + 4) * b_row), 1);
}

/// acc[i], lane j, = fma(a[i + p * a_k], block[p * 16 + j], acc[i]) for 16 ascending steps p, for M rows i; next[p * 16
/// + j] = b[j * b_row + p]. Half of the columns at a time, in eight slices, each beside a step.
static inline __attribute__((always_inline)) void fv_beside_rows(const float *b, ptrdiff_t b_row, float *next,
                                                                 const float *block, const float *a, ptrdiff_t a_k,
                                                                 fv_f32 *acc, int M)
{
    enum { SLICES = 8, QUARTER = 4, EIGHT = 8 };
    FV_ROLLED
    for (int h = 0; h < 2; h++) {
        __m512 low[QUARTER], high[QUARTER];
        FV_UNROLL
        for (int slice = 0; slice < SLICES; slice++, block += FOVEA_PANEL, a += a_k) {
            __m512 *const x = slice < 3 ? low : high;
            const int load = slice < 2 ? slice : slice == 3 || slice == 4 ? slice - 3 : -1;
            if (load >= 0) {
                const float *const rows = b + (slice < 3 ? 0 : EIGHT * b_row) + EIGHT * h;
                x[2 * load] = fv_beside_load(rows, b_row, 2 * load);
                x[2 * load + 1] = fv_beside_load(rows, b_row, 2 * load + 1);
            } else if (slice == 2 || slice == 5) {
                fv_transpose_lanes(x);
            } else {
                FV_UNROLL
                for (int c = 0; c < QUARTER; c++) {
                    const __m512 column = slice == 6 ? _mm512_shuffle_f32x4(low[c], high[c], _MM_SHUFFLE(2, 0, 2, 0))
                                                     : _mm512_shuffle_f32x4(low[c], high[c], _MM_SHUFFLE(3, 1, 3, 1));
                    fv_store(next + (EIGHT * h + (slice == 6 ? c : QUARTER + c)) * FOVEA_PANEL, column);
                }
            }
            fv_beside_step(block, a, acc, M);
        }
    }
}

#endif
