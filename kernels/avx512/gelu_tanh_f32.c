// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gelu_tanh_f32.c - GELU by tanh for each element, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/gelu_tanh_f32.inc"
