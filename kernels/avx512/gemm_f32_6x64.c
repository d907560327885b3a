// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_f32_6x64.c - f32 GEMM micro-kernel, C[6,64] += A[6,k] * B[k,64].
//
// Skylake-X to Zen 5: two FMA ports of 4 cycles need 8 independent accumulators; 6 rows of 4 panels are 24, with 4
// registers of B and a broadcast of A 29 of 32. 10 loads serve 24 FMAs (0.42 each, two load ports give 1).
// Bound: 12 cycles a k step, 64 flop a cycle. B is 21 bytes a cycle where it comes from L2: Zen 5 has 50; Cascade Lake
// does not quite keep up (95 % of the FMA peak), so gemm_f32_9x48 is the better tile there.
//
// On Zen 5 it is the tile for up to six rows over a B from memory, too (decoding): four streams of 64 bytes a step that
// nothing prefetches come at 37 GB/s there, one at 26 to 31, three at 35, and prefetched into L1, some hundred lines of
// all four before their use, at 38 to 50.
//
// A blob of panels is read four at a time. For each number of rows and panels one instantiation of
// each kind (gemm_tile.h); only C is masked.
#include "kernels/avx512/gemm_tile.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" // clang counts the assembly of a tile
#define GEMM_OF(M, KIND) GEMM_TILES(M, 1) GEMM_TILES(M, 2) GEMM_TILES(M, 3) GEMM_TILES(M, 4)
#define GEMM_NAMES(M, KIND) {KIND##_##M##x1, KIND##_##M##x2, KIND##_##M##x3, KIND##_##M##x4},
GEMM_UP_TO_6(GEMM_OF, )
#pragma GCC diagnostic pop

void fovea_gemm_f32_6x64_avx512(const struct fovea_gemm_tile *tile)
{
    GEMM_KERNEL(tile, GEMM_UP_TO_6, GEMM_NAMES, 6, 4, fovea_gemm_f32_6x64_avx512)
}
