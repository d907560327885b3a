// SPDX-License-Identifier: Apache-2.0
// kernels/neon/attention_decode_f16_f32.c - one chunk of keys of half precision elements against a few queries, on
// NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/attention_decode_f16_f32.inc"
