// SPDX-License-Identifier: Apache-2.0
// kernels/neon/attention_decode_bf16_f32.c - one chunk of keys of bfloat16 elements against a few queries, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/attention_decode_bf16_f32.inc"
