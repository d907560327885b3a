// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_epilogue_f32.c - the end of a GEMM: alpha, beta, bias, activation, residual, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/gemm_epilogue_f32.inc"
