// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_f32_9x48.c - f32 GEMM micro-kernel, C[9,48] += A[9,k] * B[k,48].
//
// Skylake-X to Zen 5: two FMA ports of 4 cycles need 8 independent accumulators; 9 rows of 3 panels are 27, with 3
// registers of B and 1 or 2 broadcasts of A 31 or 32 of 32. 12 loads serve 27 FMAs (0.44 each, two load ports give 1).
// Bound: 13.5 cycles a k step, 64 flop a cycle, in 45 instructions. B is 14 bytes a cycle where it comes from L2:
// 97 to 98 % of the FMA peak on Cascade Lake at k = 384 to 1024, where 8x48 reaches 96, 6x64 95, 14x32 93.
//
// Panels are read three at a time. For each number of rows and panels one instantiation of
// each way (gemm_tile.h); only C is masked.
#include "kernels/avx512/gemm_tile.h"

#define GEMM_HALVES(M) GEMM_TILE_HALF(M, 1) GEMM_TILE_HALF(M, 2) GEMM_TILE_HALF(M, 3)
#define GEMM_ROW(M) GEMM_TILE(M, 1) GEMM_TILE(M, 2) GEMM_TILE(M, 3) GEMM_HALVES(M)
GEMM_ROW(1)
GEMM_ROW(2)
GEMM_ROW(3)
GEMM_ROW(4)
GEMM_ROW(5)
GEMM_ROW(6)
GEMM_ROW(7)
GEMM_ROW(8)
GEMM_ROW(9)

void fovea_gemm_f32_9x48_avx512(const struct fovea_gemm_tile *tile)
{
    static fovea_gemm_fn *const tiles[3][9][3] = {
        {
            {gemm_1x1, gemm_1x2, gemm_1x3},
            {gemm_2x1, gemm_2x2, gemm_2x3},
            {gemm_3x1, gemm_3x2, gemm_3x3},
            {gemm_4x1, gemm_4x2, gemm_4x3},
            {gemm_5x1, gemm_5x2, gemm_5x3},
            {gemm_6x1, gemm_6x2, gemm_6x3},
            {gemm_7x1, gemm_7x2, gemm_7x3},
            {gemm_8x1, gemm_8x2, gemm_8x3},
            {gemm_9x1, gemm_9x2, gemm_9x3},
        },
        {
            {plain_1x1, plain_1x2, plain_1x3},
            {plain_2x1, plain_2x2, plain_2x3},
            {plain_3x1, plain_3x2, plain_3x3},
            {plain_4x1, plain_4x2, plain_4x3},
            {plain_5x1, plain_5x2, plain_5x3},
            {plain_6x1, plain_6x2, plain_6x3},
            {plain_7x1, plain_7x2, plain_7x3},
            {plain_8x1, plain_8x2, plain_8x3},
            {plain_9x1, plain_9x2, plain_9x3},
        },
        {
            {half_1x1, half_1x2, half_1x3},
            {half_2x1, half_2x2, half_2x3},
            {half_3x1, half_3x2, half_3x3},
            {half_4x1, half_4x2, half_4x3},
            {half_5x1, half_5x2, half_5x3},
            {half_6x1, half_6x2, half_6x3},
            {half_7x1, half_7x2, half_7x3},
            {half_8x1, half_8x2, half_8x3},
            {half_9x1, half_9x2, half_9x3},
        },
    };
    const size_t i = tile->m - 1, j = (tile->n - 1) / FOVEA_PANEL;
    gemm_call(tile, tiles[0][i][j], tiles[1][i][j], tiles[2][i][j]);
}
