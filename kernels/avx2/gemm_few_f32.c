// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_few_f32.c - few rows of C times panels of f32 from memory, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/gemm_few_f32.inc"
