// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/tanh_f32.c - tanh for each element, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/tanh_f32.inc"
