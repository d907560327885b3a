// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/log_softmax_f32.c - logarithm of the softmax of one row, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/log_softmax_f32.inc"
