// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention_decode.h - one chunk of keys against a tile of queries, q in rows.
#ifndef FOVEA_KERNELS_SCALAR_ATTENTION_DECODE_H
#define FOVEA_KERNELS_SCALAR_ATTENTION_DECODE_H

#include "kernels/scalar/attention.h"

/// Returns the scores of row r to the caller, or the exponents of its weights if the caller gave an LSE.
static inline __attribute__((always_inline)) void
scalar_return(const struct fovea_decode_chunk *decode, struct scalar_keys keys, size_t r, struct scalar_vector q)
{
    float s[FOVEA_CHUNK], *const row = decode->scores + r * FOVEA_CHUNK;
    size_t key[FOVEA_CHUNK];
    const size_t seen = scalar_attention_scores(&decode->chunk, keys, r, q, s, key);
    for (size_t j = 0; j < decode->chunk.keys || j % FOVEA_PANEL != 0; j++) {
        row[j] = -INFINITY;
    }
    const float lse = decode->lse ? decode->lse[r] : 0;
    for (size_t i = 0; i < seen && lse != -INFINITY; i++) {
        row[key[i]] = decode->lse && s[i] != -INFINITY ? (s[i] - lse) * scalar_ln2e : s[i];
    }
}

/// The kernel, over K and V that `load` reads.
static inline __attribute__((always_inline)) void scalar_decode(const struct fovea_decode_chunk *decode, const void *k,
                                                                const void *v, float (*load)(const void *, ptrdiff_t))
{
    const struct scalar_keys keys = {k, v, decode->blocks, load};
    for (size_t r = 0; r < decode->chunk.state.rows; r++) {
        const struct scalar_vector q = {decode->chunk.q + (ptrdiff_t)r * decode->q_row, 1};
        if (decode->scores) {
            scalar_return(decode, keys, r, q);
        } else {
            scalar_attention_row(&decode->chunk, keys, r, q);
        }
    }
}

#endif
