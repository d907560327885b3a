// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/widen_bf16_f32.c - bfloat16 elements as f32, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/widen_bf16_f32.inc"
