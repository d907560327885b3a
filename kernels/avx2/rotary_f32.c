// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/rotary_f32.c - rotary positions, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/rotary_f32.inc"
