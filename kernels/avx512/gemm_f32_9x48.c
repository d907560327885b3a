// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_f32_9x48.c - f32 GEMM micro-kernel, C[9,48] += A[9,k] * B[k,48].
//
// Skylake-X to Zen 5: two FMA ports of 4 cycles (Zen 4 one) need 8 independent accumulators; 9 rows of 3 panels are 27,
// with 3 registers of B and a broadcast of A 31 of 32. 12 loads serve 27 FMAs (0.44 each, two load ports give 1).
// Bound: 13.5 cycles a k step, 64 flop a cycle (Zen 4 27 and 32), in 43.5 instructions. B is 14 bytes a cycle where it
// comes from L2, the least of all tiles that fit (docs/kernels.md).
//
// Panels are read three at a time.
#include "kernels/avx512/gemm_tiles.h"

void fovea_gemm_f32_9x48_avx512(const struct fovea_gemm_tile *tile)
{
    gemm_run_tile(tile, 9, 48);
}
