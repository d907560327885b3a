// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/layernorm_f32.c - LayerNorm of one row, on AVX-512.
#include "kernels/avx512/vec.h"
#include "kernels/common/layernorm_f32.inc"
