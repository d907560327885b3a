// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_ahead_kernel.c - decoding on AVX-512, which tells what it prefetches.
#include "tests/unit/attention_ahead.h"

#include "kernels/avx512/vec.h"

#define __builtin_prefetch(line, write, level) attention_ahead_ask(line, level)
#define fovea_attention_decode_f32_avx512 attention_ahead_kernel
#include "kernels/avx512/attention_decode_f32.c"
