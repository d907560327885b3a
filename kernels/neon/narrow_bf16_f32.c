// SPDX-License-Identifier: Apache-2.0
// kernels/neon/narrow_bf16_f32.c - f32 as bfloat16 elements, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/narrow_bf16_f32.inc"
