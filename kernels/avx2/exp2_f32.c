// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/exp2_f32.c - 2^x for each element, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/exp2_f32.inc"
