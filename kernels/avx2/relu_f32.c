// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/relu_f32.c - relu for each element, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/relu_f32.inc"
