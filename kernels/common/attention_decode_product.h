// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_product.h - P V of a chunk by runs of keys that the same rows see, and its part of O.
//
// Part of attention_decode_chunk.h.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_PRODUCT_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_PRODUCT_H

#include "kernels/common/attention_decode_keys.h"
#include "kernels/common/attention_decode_seen.h"

/// Whether computing all keys that some row sees for all rows is faster than computing each run of keys for the rows
/// that see it; a run costs about as much as CALL keys of a row. It is faster with causal order and with irregular
/// masks, not if rows belong to several segments.
static inline int decode_pays_together(const struct fovea_attention_chunk *chunk, const uint64_t *seen)
{
    enum { CALL = 48 };
    const size_t rows = chunk->state.rows;
    size_t apart = 0, together = 0;
    for (size_t j = 0; j < chunk->keys && rows > 1; j++) {
        apart += (size_t)__builtin_popcountll(seen[j]) + (j != 0 && seen[j] != seen[j - 1] ? CALL : 0);
        together += seen[j] != 0 ? rows : 0;
    }
    return together < apart;
}

/// acc += P V for all rows over runs of keys that some row sees; a hidden key has weight +0. Causal, 12 queries of 12
/// heads: 1.3 times as fast as run by run. Returns false if an infinity or NaN in V turned such a zero into a NaN
/// (compare prefill_stands); acc and sums are +0 again then. Not inlined, because few rows that see all keys skip it.
static __attribute__((noinline)) int decode_together(const struct fovea_decode_chunk *decode, const uint64_t *seen,
                                                     const float *p, decode_element *tail, float *acc, float *sums)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t rows = chunk->state.rows, all = rows * attention_round(chunk->state.v_dim);
    for (size_t j = 0, end; j < chunk->keys; j = end) {
        end = attention_run(seen, chunk->keys, j, 0);
        if (seen[j] != 0) {
            end = decode_joined(decode, j, end);
            decode_before_values(decode, j, end, tail);
            decode_values(decode, j, end, 0, rows, FOVEA_GEMM_ADD, p, tail, acc, sums);
        }
    }
    uint32_t bad = 0;
    for (size_t i = 0; i < all; i += FV_LANES) {
        const fv_f32 sum = fv_load(acc + i);
        bad |= fv_bits(fv_eq(sum, sum)) ^ ((1u << FV_LANES) - 1);
    }
    if (bad == 0 || FOVEA_FAULT_IS(DECODE_HIDDEN_IS_ZERO)) {
        return 1;
    }
    for (size_t i = 0; i < all; i += FV_LANES) {
        fv_store(acc + i, fv_zero());
    }
    for (size_t r = 0; r < rows && sums; r++) {
        sums[r] = 0;
    }
    return 0;
}

/// acc = P V: all rows together if that pays; otherwise by runs of keys that the same rows see, and within them by runs
/// of these rows. sums: as in decode_values. P is changed if V is copied to dense, [128][v_dim].
static void decode_product(const struct fovea_decode_chunk *decode, const uint64_t *seen, float *p,
                           decode_element *tail, float *acc, float *sums, float *dense)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t rows = chunk->state.rows, v_dim = chunk->state.v_dim;
    const int plain = decode_plain(chunk), once = plain && decode_joined(decode, 0, chunk->keys) == chunk->keys;
    const enum fovea_gemm_mode mode = once ? FOVEA_GEMM_STORE : FOVEA_GEMM_ADD;
    const size_t clears = mode == FOVEA_GEMM_ADD && !FOVEA_FAULT_IS(DECODE_FRESH_KEEPS) ? rows : 0;
    for (size_t i = 0; i < clears * attention_round(v_dim); i += FV_LANES) {
        fv_store(acc + i, fv_zero());
    }
    if (!plain && decode_compacted(decode, seen, p, tail, acc, sums, dense)) {
        return;
    }
    if (!plain && decode_pays_together(chunk, seen) && decode_together(decode, seen, p, tail, acc, sums)) {
        return;
    }
    for (size_t j = 0, end; j < chunk->keys; j = end) {
        const uint64_t by = seen[plain ? 0 : j];
        end = plain ? chunk->keys : attention_run(seen, chunk->keys, j, by);
        end = by != 0 ? decode_joined(decode, j, end) : end;
        if (by != 0) {
            decode_before_values(decode, j, end, tail);
        }
        for (size_t r = 0; by >> r != 0; r++) {
            const size_t first = r;
            while (by >> r & 1) {
                r++;
            }
            if (r > first) {
                decode_values(decode, j, end, first, r - first, mode, p, tail, acc, sums ? sums + first : NULL);
            }
        }
    }
}

/// O = fma(O, alpha, acc) and l = fma(l, alpha, sum) for rows that saw a key. A fresh O becomes acc, which is +0 for
/// rows that saw none.
static void decode_update(const struct fovea_attention_chunk *chunk, uint64_t any, const float *alpha,
                          const float *sums, const float *acc)
{
    const struct fovea_attention_state *const state = &chunk->state;
    const size_t acc_row = attention_round(state->v_dim);
    for (size_t lane = 0; lane < DECODE_ROWS; lane += FV_LANES) {
        const fv_f32 l = fv_load(state->l + lane), grown = fv_fma(l, fv_load(alpha + lane), fv_load(sums + lane));
        fv_f32 now = fv_select(fv_mask_bits((uint32_t)(any >> lane)), grown, l);
#if FV_LANES == 16
        __asm__("" : "+v"(now)); // otherwise gcc stores single lanes, and a later load of all of them would stall
#endif
        fv_store(state->l + lane, now);
    }
    for (size_t r = 0; r < state->rows && acc != state->o; r++) {
        float *const o = state->o + (ptrdiff_t)r * state->o_row;
        const fv_f32 shrink = fv_set1(FOVEA_FAULT_IS(DECODE_O_NO_ALPHA) ? 1.0f : alpha[r]);
        for (size_t c = 0; c < acc_row && (chunk->fresh || (any >> r & 1)); c += FV_LANES) {
            const fv_f32 more = fv_load(acc + r * acc_row + c);
            fv_store(o + c, chunk->fresh ? more : fv_fma(fv_load(o + c), shrink, more));
        }
    }
}

#endif
