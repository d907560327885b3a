// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/register_rows.h - a few rows of A against 16 rows of B, which are transposed in registers only.
//
// Rows of B and their transposes take 24 registers, which leaves room for six rows of A. Against a transpose to the
// stack or to scratch that is read at once, on Cascade Lake: GEMM of 1 to 6 rows, B in L2 or in memory, 1.04 to 1.26 (7
// and 8 rows spill, 0.96); decoding one row with K in rows 1.13 to 1.15, in L2 1.24, four rows 1.07.
#ifndef FOVEA_KERNELS_AVX512_REGISTER_ROWS_H
#define FOVEA_KERNELS_AVX512_REGISTER_ROWS_H

#include "kernels/avx512/transpose.h"
#include "kernels/fault.h"

#define FV_REGISTER_ROWS 6

/// One step: acc[i] = fma(a[i * a_row], b, acc[i]) for M rows i.
static inline __attribute__((always_inline)) void fv_register_step(const float *a, ptrdiff_t a_row, fv_f32 b,
                                                                   fv_f32 *acc, int M)
{
    FV_UNROLL
    for (int i = 0; i < M; i++) {
        const fv_f32 ai = fv_set1(a[i * a_row]);
        acc[i] = FOVEA_FAULT_IS(GEMM_BT_MUL_ADD) ? fv_add(fv_mul(ai, b), acc[i]) : fv_fma(ai, b, acc[i]);
    }
}

/// acc[i], lane j, = fma(a[i * a_row + p * a_k], b[j * b_row + p], acc[i]) for 16 ascending steps p and M rows i. Rows
/// of B past `last` are not read; their lanes equal its lane.
static inline __attribute__((always_inline)) void fv_register_rows(const float *b, ptrdiff_t b_row, int last,
                                                                   const float *a, ptrdiff_t a_row, ptrdiff_t a_k,
                                                                   fv_f32 *acc, int M)
{
    struct fv_transpose_rows rows;
    fv_transpose_load(b, b_row, last, &rows);
    FV_UNROLL
    for (int h = 0; h < 2; h++) {
        __m512 columns[8];
        fv_transpose_columns(&rows, h, columns);
        FV_UNROLL
        for (int c = 0; c < 8; c++, a += a_k) {
            fv_register_step(a, a_row, columns[c], acc, M);
        }
    }
}

/// The same for eight steps.
static inline __attribute__((always_inline)) void fv_register_eight(const float *b, ptrdiff_t b_row, const float *a,
                                                                    ptrdiff_t a_row, ptrdiff_t a_k, fv_f32 *acc, int M)
{
    struct fv_transpose_rows rows;
    __m512 columns[8];
    fv_transpose_load_halves(b, b_row, FV_LANES - 1, 0, 1, &rows);
    fv_transpose_columns(&rows, 0, columns);
    FV_UNROLL
    for (int c = 0; c < 8; c++, a += a_k) {
        fv_register_step(a, a_row, columns[c], acc, M);
    }
}

/// The same for two groups of 16 rows, which begin at b[0] and b[1]. They share each element of A, and are two chains
/// of FMAs for each of its rows. Six rows have 12 sums, beside 16 columns and the element, and while the second group
/// is transposed eight columns, eight rows and what becomes of them.
static inline __attribute__((always_inline)) void fv_register_pair(const float *const b[2], ptrdiff_t b_row,
                                                                   const float *a, ptrdiff_t a_row, ptrdiff_t a_k,
                                                                   fv_f32 (*acc)[FV_REGISTER_ROWS], int M)
{
    __m512 columns[2][8];
    FV_UNROLL
    for (int t = 0; t < 2; t++) {
        const float *group = b[t];
        struct fv_transpose_rows rows;
        __asm__("" : "+r"(group)); // or gcc keeps a pointer for each row, on the stack
        fv_transpose_load_halves(group, b_row, FV_LANES - 1, 0, 1, &rows);
        fv_transpose_columns(&rows, 0, columns[t]);
    }
    FV_UNROLL
    for (int c = 0; c < 8; c++, a += a_k) {
        FV_UNROLL
        for (int i = 0; i < M; i++) {
            fv_f32 ai = fv_set1(a[i * a_row]);
            __asm__("" : "+v"(ai)); // one load, not one for each FMA
            FV_UNROLL
            for (int t = 0; t < 2; t++) {
                acc[t][i] = FOVEA_FAULT_IS(GEMM_BT_MUL_ADD) ? fv_add(fv_mul(ai, columns[t][c]), acc[t][i])
                                                            : fv_fma(ai, columns[t][c], acc[t][i]);
            }
        }
    }
}

/// Sums of eight lanes.
typedef __m256 fv_half;

/// The low half of a vector (0) or the high one (1).
static inline fv_half fv_half_of(fv_f32 x, int which)
{
    return which ? _mm512_extractf32x8_ps(x, 1) : _mm512_castps512_ps256(x);
}

static inline fv_f32 fv_of_halves(fv_half low, fv_half high)
{
    return FOVEA_FAULT_IS(GEMM_BT_HALVES_SWAPPED) ? _mm512_insertf32x8(_mm512_castps256_ps512(high), low, 1)
                                                  : _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

/// acc[i], lane j, = fma(a[i + p * a_k], b[j * b_row + p], acc[i]) for eight rows of B, 16 ascending steps p and M rows
/// i. Each line of B is one load. On cores that compute 256 bits twice as often as 512 (Zen 4) only the shuffles cost
/// more for the same number of rows of B; 7 to 16 rows of A would spill, and need too many loads (0.75 to 1.0).
static inline __attribute__((always_inline)) void fv_register_half(const float *b, ptrdiff_t b_row, const float *a,
                                                                   ptrdiff_t a_k, fv_half *acc, int M)
{
    enum { LANES = 8, BLOCK = 4 };
    __m512 top[BLOCK], bottom[BLOCK];
    FV_UNROLL
    for (int r = 0; r < BLOCK; r++) {
        top[r] = _mm512_loadu_ps(b + r * b_row);
    }
    FV_UNROLL
    for (int r = 0; r < BLOCK; r++) {
        bottom[r] = _mm512_loadu_ps(b + (BLOCK + r) * b_row);
    }
    fv_transpose_lanes(top);
    fv_transpose_lanes(bottom);
    // 128-bit lanes of top[c]: columns c, 4 + c, 8 + c and 12 + c of four rows. Two of them together with those of the
    // other rows make columns 8g + c and 8g + 4 + c of all eight.
    FV_UNROLL
    for (int g = 0; g < 2; g++) {
        const __m512i lanes =
            g == 0 ? _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11) : _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
        __m512 columns[BLOCK];
        FV_UNROLL
        for (int c = 0; c < BLOCK; c++) {
            columns[c] =
                _mm512_castpd_ps(_mm512_permutex2var_pd(_mm512_castps_pd(top[c]), lanes, _mm512_castps_pd(bottom[c])));
        }
        FV_UNROLL
        for (int c = 0; c < LANES; c++, a += a_k) {
            const __m256 column =
                c < BLOCK ? _mm512_castps512_ps256(columns[c]) : _mm512_extractf32x8_ps(columns[c - BLOCK], 1);
            FV_UNROLL
            for (int i = 0; i < M; i++) {
                const __m256 ai = _mm256_set1_ps(a[i]);
                acc[i] = FOVEA_FAULT_IS(GEMM_BT_MUL_ADD) ? _mm256_add_ps(_mm256_mul_ps(ai, column), acc[i])
                                                         : _mm256_fmadd_ps(ai, column, acc[i]);
            }
        }
    }
}

#endif
