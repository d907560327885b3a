// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention_decode_f32.c - one chunk of keys against a tile of queries, q in rows.
#include "kernels/scalar/attention.h"

void fovea_attention_decode_f32_scalar(const struct fovea_attention_chunk *chunk)
{
    for (size_t r = 0; r < chunk->state.rows; r++) {
        scalar_attention_row(chunk, r, scalar_row_vector(chunk->q, chunk->q_row, r));
    }
}
