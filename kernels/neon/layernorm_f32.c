// SPDX-License-Identifier: Apache-2.0
// kernels/neon/layernorm_f32.c - LayerNorm of one row, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/layernorm_f32.inc"
