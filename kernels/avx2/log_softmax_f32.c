// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/log_softmax_f32.c - logarithm of the softmax of one row, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/log_softmax_f32.inc"
