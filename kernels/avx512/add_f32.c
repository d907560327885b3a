// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/add_f32.c - z = x + y, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/add_f32.inc"
