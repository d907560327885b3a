// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_chunk.h - one chunk of keys against up to 16 rows, whatever the elements of K and V.
//
// Included after the two products: attention_decode_scores.h and _values.h, or attention_decode_half.h.
// Scratch: S, later P [16][128]; transposed keys, decode_transposed(qk_dim) elements; the last partial panel of V
// [128][16]; the new part of O [16][round16(v_dim)]; scores of the next chunk [4][128]; K, then V, of the keys that are
// seen [128][v_dim].
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_CHUNK_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_CHUNK_H

#include "kernels/common/attention_decode_product.h"
#include "kernels/common/attention_decode_softmax.h"
#include "kernels/common/attention_decode_terms.h"
#include "kernels/common/variant.h"

#include <float.h>

/// Returns the scores of row r to the caller, or the exponents of its weights if the caller gave an LSE. s[0..128) are
/// the computed scores.
static void decode_return(const struct fovea_decode_chunk *decode, const uint64_t *seen, uint64_t common, size_t r,
                          const float *s)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const float lse = decode->lse ? decode->lse[r] : 0;
    const uint32_t none = lse == -INFINITY ? 0 : ~0u;
    for (size_t j = 0; j < chunk->keys; j += FOVEA_PANEL) {
        const uint32_t bits = none & decode_bits(seen + j, attention_min(FOVEA_PANEL, chunk->keys - j), r, common);
        for (size_t i = 0; i < FOVEA_PANEL; i += FV_LANES) {
            const fv_mask mask = fv_mask_bits(FOVEA_FAULT_IS(DECODE_RETURNS_HIDDEN) ? ~0u : bits >> i);
            fv_f32 x = fv_load(s + j + i);
            if (decode->lse) { // NaN if lse is NaN, but not for a score of -inf
                x = fv_select(fv_not_lt(x, fv_set1(-FLT_MAX)), attention_power(x, fv_set1(lse)), x);
            }
            fv_store(decode->scores + r * FOVEA_CHUNK + j + i, fv_select(mask, x, fv_set1(-INFINITY)));
        }
    }
}

/// Applies dropout: drops weights, and scales those that are kept.
static void decode_drop(const struct fovea_attention_chunk *chunk, float *p)
{
    for (size_t r = 0; r < chunk->state.rows; r++) {
        for (size_t j = 0; j < chunk->keys; j += FOVEA_PANEL) {
            const uint32_t keep = decode_bits(chunk->keep + j, attention_min(FOVEA_PANEL, chunk->keys - j), r, 0);
            for (size_t i = 0; i < FOVEA_PANEL; i += FV_LANES) {
                float *const at = p + r * FOVEA_CHUNK + j + i;
                fv_store(at, attention_drop(fv_mask_bits(keep >> i), fv_load(at), chunk->keep_scale));
            }
        }
    }
}

/// The kernel.
static inline __attribute__((always_inline)) void decode_chunk(const struct fovea_decode_chunk *decode)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const struct fovea_attention_state *const state = &chunk->state;
    float *const s = chunk->scratch;
    float *const transposed = s + DECODE_ROWS * FOVEA_CHUNK;
    float *const tail = transposed + decode_transposed(chunk->qk_dim);
    float *const room = tail + FOVEA_CHUNK * FOVEA_PANEL;
    float *const s_next = room + DECODE_ROWS * attention_round(state->v_dim);
    float *const dense = s_next + DECODE_BESIDE * FOVEA_CHUNK;
    const int at_once = chunk->fresh && state->o_row == (ptrdiff_t)attention_round(state->v_dim);
    float *const acc = at_once ? state->o : room; // O itself, or the part to be added to it
    // sums are written as whole vectors, the last one from row 8 on.
    float alpha[DECODE_ROWS] = {0}, sums[2 * DECODE_ROWS] = {0};
    uint64_t seen[FOVEA_CHUNK];

    __asm__("" : "=m"(seen)); // gcc cannot tell that every element that is read has been set

    if (decode_plain(chunk)) {
        seen[0] = attention_all(state->rows); // the others are not read
    } else {
        attention_seen(chunk, seen);
    }
    if (decode->begun && *decode->begun) {
        *decode->begun = 0;
        for (size_t i = 0; i < state->rows * FOVEA_CHUNK; i += FV_LANES) {
            fv_store(s + i, fv_load(s_next + i));
        }
    } else {
        decode_scores(decode, seen, s, transposed, dense);
    }
    decode_terms(chunk, seen, s);
    const size_t words = decode_plain(chunk) ? 1 : chunk->keys;
    const uint64_t common = attention_common(seen, words);
    for (size_t r = 0; decode->scores && r < state->rows; r++) {
        decode_return(decode, seen, common, r, s + r * FOVEA_CHUNK);
    }
    if (decode->scores) {
        return;
    }
    for (size_t r = 0; state->spread && r < state->rows; r++) {
        decode_statistics(chunk, seen, r, s + r * FOVEA_CHUNK);
    }
    decode_fetch_first(decode);
    decode_fetch_behind(decode);
    decode_softmax(chunk, seen, common, s, alpha);
    // If no weight is dropped, their sums are hidden behind a product of few rows.
    const int beside = state->rows <= DECODE_FLAT && decode_flat(decode, state->rows) && !chunk->keep;
    if (!beside) {
        decode_sums(s, chunk->keys, state->rows, sums);
    }
    if (chunk->keep) {
        decode_drop(chunk, s);
    }
    if (decode_may_beside(decode)) {
        decode_beside(decode, s, acc, beside ? sums : NULL, s_next);
        *decode->begun = 1;
    } else {
        decode_product(decode, seen, s, (decode_element *)(void *)tail, acc, beside ? sums : NULL, dense);
    }
    decode_update(chunk, attention_any(seen, words), alpha, sums, acc);
}

#endif
