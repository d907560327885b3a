// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_epilogue_f32.c - the end of a GEMM: alpha, beta, bias, activation, residual, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/gemm_epilogue_f32.inc"
