// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/widen_s8_f32.c - 8-bit integers times their scales, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/widen_s8_f32.inc"
