// SPDX-License-Identifier: Apache-2.0
// kernels/neon/widen_bf16_f32.c - bfloat16 elements as f32, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/widen_bf16_f32.inc"
