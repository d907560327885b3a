// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gelu_tanh_f32.c - GELU by tanh for each element, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/gelu_tanh_f32.inc"
