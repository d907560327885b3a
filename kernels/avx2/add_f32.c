// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/add_f32.c - z = x + y, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/add_f32.inc"
