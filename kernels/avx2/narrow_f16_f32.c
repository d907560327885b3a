// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/narrow_f16_f32.c - f32 as half precision elements, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/narrow_f16_f32.inc"
