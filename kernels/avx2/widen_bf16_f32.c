// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/widen_bf16_f32.c - bfloat16 elements as f32, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/widen_bf16_f32.inc"
