// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention_decode_bf16_f32.c - one chunk of keys of bfloat16 elements against a tile of queries, q in
// rows.
#include "kernels/scalar/attention_decode.h"
#include "kernels/scalar/half.h"

static float load(const void *first, ptrdiff_t i)
{
    return from_bf16(((const uint16_t *)first)[i]);
}

void fovea_attention_decode_bf16_f32_scalar(const struct fovea_decode_chunk *decode)
{
    scalar_decode(decode, decode->k_half, decode->v_half, load);
}
