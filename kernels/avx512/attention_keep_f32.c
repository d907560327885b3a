// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_keep_f32.c - which weights of a chunk dropout keeps, on AVX-512.
#include "kernels/avx512/vec_u32.h"
#include "kernels/common/attention_keep_f32.inc"
