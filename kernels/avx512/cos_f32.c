// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/cos_f32.c - cos for each element, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/cos_f32.inc"
