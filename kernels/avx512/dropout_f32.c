// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/dropout_f32.c - elementwise dropout, on AVX-512.
#include "kernels/avx512/vec_u32.h"
#include "kernels/common/dropout_f32.inc"
