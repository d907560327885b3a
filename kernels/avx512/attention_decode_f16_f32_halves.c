// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_decode_f16_f32_halves.c - one chunk of keys of half precision against a few queries, on
// AVX-512 in two halves.
#define FV_HALVES 1
#include "kernels/avx512/vec.h"

#define FV_LOAD_HALF fv_load_f16
#define FV_DECODE_BESIDE 0
#include "kernels/common/attention_decode_half.h"

#include "kernels/common/attention_decode_chunk.h"

void FV_NAME(attention_decode_f16_f32_halves)(const struct fovea_decode_chunk *decode)
{
    decode_chunk(decode);
}
