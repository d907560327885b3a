// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/register_rows.h - a few rows of A against 16 rows of B, whose columns never leave the registers.
//
// Rows of B and what becomes of them take 24 registers, so six rows of A have room. Against a transpose to the stack or
// to scratch that is read at once, on Cascade Lake: GEMM of 1 to 6 rows, B in L2 or in memory, 1.04 to 1.26 (7 and 8
// rows spill, 0.96); decoding one row with K in rows 1.13 to 1.15, in L2 1.24, four rows 1.07.
#ifndef FOVEA_KERNELS_AVX512_REGISTER_ROWS_H
#define FOVEA_KERNELS_AVX512_REGISTER_ROWS_H

#include "kernels/avx512/transpose.h"
#include "kernels/fault.h"

#define FV_REGISTER_ROWS 6

/// acc[i], lane j, = fma(a[i * a_row + p * a_k], b[j * b_row + p], acc[i]) for 16 ascending steps p, for M rows i.
static inline __attribute__((always_inline)) void fv_register_rows(const float *b, ptrdiff_t b_row, const float *a,
                                                                   ptrdiff_t a_row, ptrdiff_t a_k, fv_f32 *acc, int M)
{
    struct fv_transpose_rows rows;
    fv_transpose_load(b, b_row, &rows);
    FV_UNROLL
    for (int h = 0; h < 2; h++) {
        __m512 columns[8];
        fv_transpose_columns(&rows, h, columns);
        FV_UNROLL
        for (int c = 0; c < 8; c++, a += a_k) {
            FV_UNROLL
            for (int i = 0; i < M; i++) {
                const fv_f32 ai = fv_set1(a[i * a_row]);
                acc[i] = FOVEA_FAULT_IS(GEMM_BT_MUL_ADD) ? fv_add(fv_mul(ai, columns[c]), acc[i])
                                                         : fv_fma(ai, columns[c], acc[i]);
            }
        }
    }
}

#endif
