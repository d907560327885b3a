// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/rotary_f32.c - rotary positions, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/rotary_f32.inc"
