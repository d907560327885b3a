// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/exp2_f32.c - 2^x for each element, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/exp2_f32.inc"
