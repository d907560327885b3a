// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_bf16_f32.c - few rows of C times panels of bfloat16 elements, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/gemm_bf16_f32.inc"
