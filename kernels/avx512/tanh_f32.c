// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/tanh_f32.c - tanh for each element, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/tanh_f32.inc"
