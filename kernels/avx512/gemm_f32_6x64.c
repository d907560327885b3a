// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_f32_6x64.c - f32 GEMM micro-kernel, C[6,64] += A[6,k] * B[k,64].
//
// Skylake-X to Zen 5: two FMA ports of 4 cycles (Zen 4 one) need 8 independent accumulators; 6 rows of 4 panels are 24,
// with 4 registers of B and a broadcast of A 29 of 32. 10 loads serve 24 FMAs (0.42 each, two load ports give 1).
// Bound: 12 cycles a k step, 64 flop a cycle (Zen 4 24 and 32). B is 21 bytes a cycle where it comes from L2: Zen 5 has
// 50; Cascade Lake does not quite keep up, so gemm_f32_9x48 is the better tile there.
//
// On Zen 5 it is the tile for up to six rows over a B from memory, too (decoding): four streams of 64 bytes a step that
// nothing prefetches come at 37 GB/s there, one at 26 to 31, three at 35, and prefetched into L1, some hundred lines of
// all four before their use, at 38 to 50.
//
// A blob of panels is read four at a time.
#include "kernels/avx512/gemm_tiles.h"

void fovea_gemm_f32_6x64_avx512(const struct fovea_gemm_tile *tile)
{
    gemm_run_tile(tile, 6, 64);
}
