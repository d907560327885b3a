// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/layernorm_f32.c - LayerNorm of one row, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/layernorm_f32.inc"
