// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_few_f32_halves.c - few rows of C times panels of f32 from memory, on AVX-512 in two halves.
#define FV_HALVES 1
#include "kernels/avx512/vec.h"
#define FEW_WIDEN_SLOWLY fv_load_halves
#include "kernels/common/gemm_few_f32.inc"
