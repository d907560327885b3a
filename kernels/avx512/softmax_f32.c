// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/softmax_f32.c - softmax of one row, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/softmax_f32.inc"
