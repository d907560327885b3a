// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention_prefill_f32.c - one chunk of keys against a tile of queries, q transposed.
#include "kernels/scalar/attention.h"

void fovea_attention_prefill_f32_scalar(const struct fovea_prefill_chunk *prefill)
{
    const struct fovea_attention_chunk *const chunk = &prefill->chunk;
    const struct scalar_keys keys = {chunk->k, chunk->v, NULL, scalar_load};
    for (size_t r = 0; r < chunk->state.rows; r++) {
        scalar_attention_row(chunk, keys, r, (struct scalar_vector){chunk->q + r, chunk->state.o_col});
    }
}
