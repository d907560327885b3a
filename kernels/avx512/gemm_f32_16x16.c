// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_f32_16x16.c - f32 GEMM micro-kernel, C[16,16] += A[16,k] * B[k,16], for few rows of C.
//
// So few rows are as fast as a packed B is read, and one panel of it is one stream of lines, which Zen 5 reads at 30
// GB/s, with a prefetch into L2 some 100 lines ahead at 36. (Up to six rows are faster still in four panels side by
// side that nothing prefetches, gemm_f32_6x64.c; three panels with prefetches come at 24.) Zen 4 reads it at 28 by
// itself and at 20 with any prefetch beside one row. Up to eight rows a line takes the 4 cycles of an FMA, 16 bytes a
// cycle, sixteen rows 8: a broadcast for every FMA, so that is what the two load ports give, too.
#include "kernels/avx512/gemm_tile.h"

#define GEMM_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#define GEMM_OF(M) GEMM_TILE(M, 1)
#define GEMM_NAME(M) gemm_##M##x1,
#define GEMM_PLAIN(M) plain_##M##x1,
GEMM_ROWS(GEMM_OF)

void fovea_gemm_f32_16x16_avx512(const struct fovea_gemm_tile *tile)
{
    static fovea_gemm_fn *const tiles[2][16] = {{GEMM_ROWS(GEMM_NAME)}, {GEMM_ROWS(GEMM_PLAIN)}};
    fovea_gemm_fn *const plain = tiles[1][tile->m - 1];
    gemm_call(tile, tiles[0][tile->m - 1], plain, plain);
}
