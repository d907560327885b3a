// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_f32_12x32.c - f32 GEMM micro-kernel, C[12,32] += A[12,k] * B[k,32], for few rows or columns of C.
//
// 10 to 12 rows over a B from memory: 12 rows of 2 panels are 24 accumulators, with 2 registers of B and a broadcast of
// A 27 of 32. 14 loads serve 24 FMAs (0.58 each, two load ports give 1). Bound: 12 cycles a k step, which reads 128
// bytes of B. On Zen 5, prefetched into L1 56 steps ahead, a loop of loads and FMAs alone reaches 170 to 190 Gflop/s of
// 225 where one panel of 16x16 reaches 148 to 173; 14 rows of 2 panels are no faster than of one. Not for products of
// more columns that are in L2 (fovea_is_tall, ops/gemm_fit.c).
#include "kernels/avx512/gemm_tiles.h"

void fovea_gemm_f32_12x32_avx512(const struct fovea_gemm_tile *tile)
{
    gemm_run_tile(tile, 12, 32);
}
