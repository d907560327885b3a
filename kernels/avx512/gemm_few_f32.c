// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_few_f32.c - few rows of C times panels of f32 from memory, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/gemm_few_f32.inc"
