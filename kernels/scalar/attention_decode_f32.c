// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention_decode_f32.c - one chunk of keys against a tile of queries, q in rows.
#include "kernels/scalar/attention.h"

/// Returns the scores of row r to the caller, or the exponents of its weights if the caller gave an LSE.
static void return_scores(const struct fovea_decode_chunk *decode, size_t r, struct scalar_vector q)
{
    float s[FOVEA_CHUNK], *const row = decode->scores + r * FOVEA_CHUNK;
    size_t key[FOVEA_CHUNK];
    const size_t seen = scalar_attention_scores(&decode->chunk, decode->blocks, r, q, s, key);
    for (size_t j = 0; j < decode->chunk.keys || j % FOVEA_PANEL != 0; j++) {
        row[j] = -INFINITY;
    }
    const float lse = decode->lse ? decode->lse[r] : 0;
    for (size_t i = 0; i < seen && lse != -INFINITY; i++) {
        row[key[i]] = decode->lse && s[i] != -INFINITY ? (s[i] - lse) * scalar_ln2e : s[i];
    }
}

void fovea_attention_decode_f32_scalar(const struct fovea_decode_chunk *decode)
{
    for (size_t r = 0; r < decode->chunk.state.rows; r++) {
        const struct scalar_vector q = scalar_row_vector(decode->chunk.q, decode->q_row, r);
        if (decode->scores) {
            return_scores(decode, r, q);
        } else {
            scalar_attention_row(&decode->chunk, decode->blocks, r, q);
        }
    }
}
