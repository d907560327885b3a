// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/cos_f32.c - cos for each element, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/cos_f32.inc"
