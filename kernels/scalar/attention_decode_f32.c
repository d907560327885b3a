// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention_decode_f32.c - one chunk of keys against a tile of queries, q in rows.
#include "kernels/scalar/attention_decode.h"

void fovea_attention_decode_f32_scalar(const struct fovea_decode_chunk *decode)
{
    scalar_decode(decode, decode->chunk.k, decode->chunk.v, scalar_load);
}
