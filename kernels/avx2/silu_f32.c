// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/silu_f32.c - SiLU for each element, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/silu_f32.inc"
