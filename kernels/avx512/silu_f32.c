// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/silu_f32.c - SiLU for each element, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/silu_f32.inc"
