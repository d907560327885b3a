// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_f32_6x64.c - f32 GEMM micro-kernel, C[6,64] += A[6,k] * B[k,64].
//
// Skylake-X to Zen 5: two FMA ports of 4 cycles need 8 independent accumulators; 6 rows of 4 panels are 24, with 4
// registers of B and 1 or 2 broadcasts of A 29 or 30 of 32. 10 loads serve 24 FMAs (0.42 each, two load ports give 1).
// Bound: 12 cycles a k step, 64 flop a cycle. B is 21 bytes a cycle where it comes from L2: Zen 5 has 50; Cascade Lake
// does not quite keep up (95 % of the FMA peak), so gemm_f32_9x48 is the better tile there.
//
// On Zen 5 it is the tile for up to six rows over a packed B from memory, too (decoding): four streams of 64 bytes a
// step that nothing prefetches come at 37 GB/s there, one at 26 to 31, three at 35, six at 38, eight at 35.
//
// A blob of panels is read four at a time. For each number of rows and panels one instantiation of
// each way (gemm_tile.h); only C is masked.
#include "kernels/avx512/gemm_tile.h"

#define GEMM_HALVES(M) GEMM_TILE_HALF(M, 1) GEMM_TILE_HALF(M, 2) GEMM_TILE_HALF(M, 3) GEMM_TILE_HALF(M, 4)
#define GEMM_ROW(M) GEMM_TILE(M, 1) GEMM_TILE(M, 2) GEMM_TILE(M, 3) GEMM_TILE(M, 4) GEMM_HALVES(M)
GEMM_ROW(1)
GEMM_ROW(2)
GEMM_ROW(3)
GEMM_ROW(4)
GEMM_ROW(5)
GEMM_ROW(6)

void fovea_gemm_f32_6x64_avx512(const struct fovea_gemm_tile *tile)
{
    static fovea_gemm_fn *const tiles[3][6][4] = {
        {
            {gemm_1x1, gemm_1x2, gemm_1x3, gemm_1x4},
            {gemm_2x1, gemm_2x2, gemm_2x3, gemm_2x4},
            {gemm_3x1, gemm_3x2, gemm_3x3, gemm_3x4},
            {gemm_4x1, gemm_4x2, gemm_4x3, gemm_4x4},
            {gemm_5x1, gemm_5x2, gemm_5x3, gemm_5x4},
            {gemm_6x1, gemm_6x2, gemm_6x3, gemm_6x4},
        },
        {
            {plain_1x1, plain_1x2, plain_1x3, plain_1x4},
            {plain_2x1, plain_2x2, plain_2x3, plain_2x4},
            {plain_3x1, plain_3x2, plain_3x3, plain_3x4},
            {plain_4x1, plain_4x2, plain_4x3, plain_4x4},
            {plain_5x1, plain_5x2, plain_5x3, plain_5x4},
            {plain_6x1, plain_6x2, plain_6x3, plain_6x4},
        },
        {
            {half_1x1, half_1x2, half_1x3, half_1x4},
            {half_2x1, half_2x2, half_2x3, half_2x4},
            {half_3x1, half_3x2, half_3x3, half_3x4},
            {half_4x1, half_4x2, half_4x3, half_4x4},
            {half_5x1, half_5x2, half_5x3, half_5x4},
            {half_6x1, half_6x2, half_6x3, half_6x4},
        },
    };
    const size_t i = tile->m - 1, j = (tile->n - 1) / FOVEA_PANEL;
    gemm_call(tile, tiles[0][i][j], tiles[1][i][j], tiles[2][i][j]);
}
