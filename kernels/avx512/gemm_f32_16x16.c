// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_f32_16x16.c - f32 GEMM micro-kernel, C[16,16] += A[16,k] * B[k,16], for few rows or columns of C.
//
// So few rows are as fast as a packed B is read, and one panel of it is one stream of lines, which Zen 5 reads at 30
// GB/s, with a prefetch some 100 lines ahead at 36. (Fewer than 13 rows are faster still in more panels side by side,
// gemm_f32_6x64.c, 9x48 and 12x32.) Zen 4 reads it at 28 by itself and at 20 with any prefetch beside one row. Up to
// eight rows a line takes the 4 cycles of an FMA, 16 bytes a cycle, sixteen rows 8: a broadcast for every FMA, so that
// is what the two load ports give, too.
#include "kernels/avx512/gemm_tiles.h"

void fovea_gemm_f32_16x16_avx512(const struct fovea_gemm_tile *tile)
{
    gemm_run_tile(tile, 16, 16);
}
