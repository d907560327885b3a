// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_s8_f32.c - few rows of C times panels of 8-bit integers with scales, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/gemm_s8_f32.inc"
