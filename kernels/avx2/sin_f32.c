// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/sin_f32.c - sin for each element, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/sin_f32.inc"
