// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/sin_f32.c - sin for each element, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/sin_f32.inc"
