// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/dropout_f32.c - elementwise dropout, on AVX2.
#include "kernels/avx2/vec_u32.h"
#include "kernels/common/dropout_f32.inc"
