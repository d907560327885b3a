// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_f16_f32_halves.c - few rows of C times panels of half precision, on AVX-512 in two halves.
#define FV_HALVES 1
#include "kernels/avx512/vec.h"
#include "kernels/common/gemm_f16_f32.inc"
