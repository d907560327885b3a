// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/softmax_f32.c - softmax of one row, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/softmax_f32.inc"
