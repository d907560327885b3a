// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_ahead_halves.c - as attention_ahead_kernel.c, for cores that execute 512 bits as two halves.
#define FV_HALVES 1
#include "tests/unit/attention_ahead.h"

#include "kernels/avx512/vec.h"

#define __builtin_prefetch(line, write, level) attention_ahead_ask(line, level)
#define fovea_attention_decode_f32_halves_avx512 attention_ahead_halves
#include "kernels/avx512/attention_decode_f32_halves.c"
