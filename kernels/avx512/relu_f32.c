// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/relu_f32.c - relu for each element, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/relu_f32.inc"
