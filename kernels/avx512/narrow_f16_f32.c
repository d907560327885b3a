// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/narrow_f16_f32.c - f32 as half precision elements, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/narrow_f16_f32.inc"
