// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_edge_f32.c - up to eight columns of C, the last ones, on AVX2.
#include "kernels/avx2/vec.h"

#include "kernels/common/gemm_edge_f32.inc"
