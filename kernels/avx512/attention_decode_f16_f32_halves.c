// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_decode_f16_f32_halves.c - one chunk of keys of half precision against a few queries, on
// AVX-512 in two halves.
#define FV_HALVES 1
#include "kernels/avx512/vec.h"
#include "kernels/common/attention_decode_f16_f32.inc"
