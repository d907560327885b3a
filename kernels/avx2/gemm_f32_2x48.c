// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_f32_2x48.c - f32 GEMM micro-kernel, C[2,48] += A[2,k] * B[k,48], for one or two rows of C.
//
// So few rows are limited by reading B, and B is read fastest if the hardware prefetcher follows a few long streams by
// itself. On Zen 3 one panel runs at 85 % of the read stream that bench/probe_stream.c measures, two at 110, three or
// four at 120 to 130; with software prefetches, which occupy the miss buffers first, one at 75 and four at 105. Three
// panels are 12 accumulators of 16 registers for two rows, and for one row 6 chains, where one panel has 2.
#include "kernels/avx2/vec.h"
#include "kernels/common/gemm_f32_2x48.inc"
