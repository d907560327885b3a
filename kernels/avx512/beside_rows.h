// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/beside_rows.h - 16 rows of B against more rows of A than fit in registers along with the transpose.
//
// A block of 16 x 16 is transposed to the stack while the previous one is multiplied: its lines may arrive late, and on
// Zen 5 its loads and shuffles use ports that FMAs leave idle. (On Intel cores 512-bit shuffles have one port, which is
// one of the two of FMAs.) Zen 5, against one after the other, B from memory: 7 rows 1.18 to 1.22 times as fast, 8 rows
// 1.05 to 1.1, 9 to 16 rows 1.02 to 1.05. Not measured elsewhere. (Two panels at a time, so that an element of A is one
// load for two FMAs, in halves of eight rows: 1.1 from L2 and L3, but 0.8 to 0.95 from memory, because that reads 32
// rows of B.)
#ifndef FOVEA_KERNELS_AVX512_BESIDE_ROWS_H
#define FOVEA_KERNELS_AVX512_BESIDE_ROWS_H

#include "kernels/avx512/register_rows.h"
#include "kernels/avx512/transpose.h"
#include "kernels/fault.h"

#define FV_HAS_BESIDE 1

/// Loads the first eight elements of row r at b, then those of row r + 4.
static inline __attribute__((always_inline)) __m512 fv_beside_load(const float *b, ptrdiff_t b_row, int r)
{
    const __m256 first = _mm256_loadu_ps(b + r * b_row);
    return _mm512_insertf32x8(_mm512_castps256_ps512(first), _mm256_loadu_ps(b + (r + 4) * b_row), 1);
}

/// acc[i], lane j, = fma(a[i + p * a_k], block[p * 16 + j], acc[i]) for 16 ascending steps p and M rows i; and
/// next[p * 16 + j] = b[j * b_row + p]. The transpose handles half h of the columns at a time, in eight slices, each
/// along with a step:
///     slice   columns 8h to 8h + 7
///     0, 1    rows 0 to 7 are loaded to low
///     2       low is transposed in lanes
///     3, 4    rows 8 to 15 are loaded to high
///     5       high is transposed in lanes
///     6, 7    four columns each of low and high are stored
static inline __attribute__((always_inline)) void fv_beside_rows(const float *b, ptrdiff_t b_row, float *next,
                                                                 const float *block, const float *a, ptrdiff_t a_k,
                                                                 fv_f32 *acc, int M)
{
    enum { SLICES = 8, QUARTER = 4, EIGHT = 8 };
    b -= FOVEA_FAULT_IS(GEMM_BT_BESIDE_STAYS) ? FOVEA_PANEL : 0; // the block being multiplied
    // Not unrolled: that would double the code, up to 256 FMAs, for each M.
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
                for (int i = 0; i < QUARTER; i++) {
                    const int c = slice == 6 ? i : QUARTER + i;
                    fv_store(next + (EIGHT * h + c) * FOVEA_PANEL, fv_transpose_column(low, high, c));
                }
            }
            fv_register_step(a, 1, fv_load(block), acc, M);
        }
    }
}

#endif
