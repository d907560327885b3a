// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/narrow_bf16_f32.c - f32 as bfloat16 elements, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/narrow_bf16_f32.inc"
