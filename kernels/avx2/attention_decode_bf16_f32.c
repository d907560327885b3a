// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/attention_decode_bf16_f32.c - one chunk of keys of bfloat16 elements against a few queries, on AVX2.
#include "kernels/avx2/vec.h"
#include "kernels/common/attention_decode_bf16_f32.inc"
