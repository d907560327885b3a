// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/widen_s8_f32.c - 8-bit integers times their scales, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/widen_s8_f32.inc"
