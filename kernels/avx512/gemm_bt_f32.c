// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_bt_f32.c - few rows of A times rows of B, transposed in blocks of 16 x 16.
#include "kernels/avx512/transpose.h"
#include "kernels/common/transpose.h"
#include "kernels/fault.h"

/// acc += 16 steps of 16 rows of B at b, whose columns never leave the registers. Rows of B and what becomes of them
/// take 24, so six rows of A have room: 1.04 to 1.26 times as fast as through the stack on Cascade Lake, be B in L2 or
/// in memory; seven and eight rows 0.96.
static inline __attribute__((always_inline)) void gemm_bt_in_registers(const float *b, ptrdiff_t b_row, const float *a,
                                                                       ptrdiff_t a_k, fv_f32 acc[][1], int M)
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
                const fv_f32 ai = fv_set1(a[i]);
                acc[i][0] = FOVEA_FAULT_IS(GEMM_BT_MUL_ADD) ? fv_add(fv_mul(ai, columns[c]), acc[i][0])
                                                            : fv_fma(ai, columns[c], acc[i][0]);
            }
        }
    }
}

#define GEMM_BT_MR 16
#define GEMM_BT_TRANSPOSE fv_transpose
#define GEMM_BT_SCALE fv_set1(1.0f)
#define GEMM_BT_REGISTER_ROWS 6
#include "kernels/common/gemm_bt_f32.inc"
