// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_softmax.h - turns the scores of a block's rows into weights, with maxima and sums.
//
// Part of attention_decode_chunk.h.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_SOFTMAX_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_SOFTMAX_H

#include "kernels/common/attention_decode_few.h"
#include "kernels/common/attention_decode_seen.h"

#include <math.h>

enum { DECODE_CHAINS = 8 }; ///< the most sums that are computed side by side

/// Statistics of row r, whose scores are s[0..128); called before they become weights. Sums run key after key.
static void decode_statistics(const struct fovea_attention_chunk *chunk, const uint64_t *seen, size_t r, const float *s)
{
    const struct fovea_attention_state *const state = &chunk->state;
    const float old = state->m[r];
    float m = old, p[FOVEA_CHUNK + FOVEA_PANEL], x[FOVEA_CHUNK + FOVEA_PANEL], spread = 0.0f;
    uint32_t top = state->top[r];
    uint64_t any = 0;
    for (size_t j = 0; j < chunk->keys; j++) {
        if ((seen[j] >> r & 1) && s[j] > m) {
            m = s[j];
            top = chunk->key + (uint32_t)j;
        }
        any |= seen[j];
    }
    if (!(any >> r & 1)) {
        return;
    }
    const fv_f32 base = attention_base(fv_set1(m));
    for (size_t j = 0; j < chunk->keys; j += FV_LANES) {
        fv_store(p + j, attention_weight(fv_load(s + j), base));
        fv_store(x + j, attention_exponent(fv_load(s + j), base));
    }
    for (size_t j = 0; j < chunk->keys; j++) {
        spread = seen[j] >> r & 1 ? fmaf(p[j], x[j], spread) : spread;
    }
    const fv_f32 before = fv_set1(old);
    const fv_f32 shifted = attention_shifted(before, base, fv_set1(state->l[r]), fv_set1(state->spread[r]));
    fv_store_tail(state->spread + r, fv_fma(shifted, attention_weight(before, base), fv_set1(spread)), 1);
    state->top[r] = top;
}

enum { DECODE_SIDE = 4 }; ///< vectors that are processed side by side where every row sees a whole chunk; else FV_VECS
_Static_assert(FV_VECS <= DECODE_SIDE && FOVEA_CHUNK % (DECODE_SIDE * FV_LANES) == 0, "whole groups of vectors");

/// The largest score of row r, or its m so far; bits: the keys that it sees. ALL: it sees all of a whole chunk, and
/// bits are not set.
static inline __attribute__((always_inline)) float decode_row_max(const struct fovea_attention_chunk *chunk,
                                                                  const uint64_t *seen, uint64_t common, size_t r,
                                                                  const float *s, uint32_t bits[DECODE_GROUPS], int ALL)
{
    const int VECS = ALL ? DECODE_SIDE : FV_VECS;
    const size_t keys = ALL ? FOVEA_CHUNK : chunk->keys;
    fv_f32 max[DECODE_SIDE];
    FV_UNROLL
    for (int i = 0; i < VECS; i++) {
        max[i] = fv_set1(-INFINITY);
    }
    for (size_t j = 0; j < (ALL && FOVEA_FAULT_IS(DECODE_ALL_MAX_SHORT) ? keys / 2 : keys);
         j += (size_t)VECS * FV_LANES) {
        if (!ALL) {
            bits[j / FOVEA_PANEL] = decode_bits(seen + j, attention_min(FOVEA_PANEL, keys - j), r, common);
        }
        FV_UNROLL
        for (int i = 0; i < VECS; i++) {
            const fv_mask mask = fv_mask_bits(ALL ? ~0u : bits[j / FOVEA_PANEL] >> (i * FV_LANES));
            const fv_f32 most = attention_most(fv_load(s + j + i * FV_LANES), max[i]);
            max[i] = ALL ? most : fv_select(mask, most, max[i]);
        }
    }
    FV_UNROLL
    for (int i = 1; i < VECS; i++) {
        max[0] = attention_most(max[0], max[i]);
    }
    max[0] = attention_max(max[0], fv_set1(chunk->state.m[r]));
    const fv_mask lanes = fv_mask_bits(FOVEA_FAULT_IS(DECODE_LARGEST_SHORT) ? 1 : ~0u);
    return fv_largest(fv_select(lanes, max[0], fv_set1(chunk->state.m[r])));
}

/// decode_softmax. ALL: every row sees all of a whole chunk.
static inline __attribute__((always_inline)) void decode_softmax_of(const struct fovea_attention_chunk *chunk,
                                                                    const uint64_t *seen, uint64_t common, float *s,
                                                                    float *alpha, int ALL)
{
    const struct fovea_attention_state *const state = &chunk->state;
    const int VECS = ALL ? DECODE_SIDE : FV_VECS;
    const size_t keys = ALL ? FOVEA_CHUNK : chunk->keys;
    uint32_t bits[DECODE_ROWS][DECODE_GROUPS];
    float base[DECODE_ROWS];
    for (size_t lane = 0; lane < state->rows; lane += FV_LANES) {
        // Collected in a vector, not in memory: a vector load of several scalars just stored would stall.
        fv_f32 larger = fv_zero();
        for (size_t i = 0; i < FV_LANES && lane + i < state->rows; i++) {
            const size_t r = lane + i;
            const float most = decode_row_max(chunk, seen, common, r, s + r * FOVEA_CHUNK, bits[r], ALL);
            larger = fv_select(fv_mask_bits(1u << i), fv_set1(most), larger);
        }
        const fv_f32 from = attention_base(larger);
        fv_store(base + lane, from);
        fv_store(alpha + lane, attention_weight(fv_load(state->m + lane), from));
        fv_store(state->m + lane, larger);
    }
    for (size_t r = 0; r < state->rows; r++) {
        const fv_f32 from = fv_set1(base[r]);
        for (size_t j = 0; j < keys; j += (size_t)VECS * FV_LANES) {
            float *const at = s + r * FOVEA_CHUNK + j;
            fv_f32 p[DECODE_SIDE];
            FV_UNROLL
            for (int i = 0; i < VECS; i++) {
                p[i] = fv_load(at + i * FV_LANES);
            }
            attention_weight_each(p, from, VECS);
            FV_UNROLL
            for (int i = 0; i < VECS; i++) {
                const fv_mask mask = fv_mask_bits(ALL ? ~0u : bits[r][j / FOVEA_PANEL] >> (i * FV_LANES));
                fv_store(at + i * FV_LANES, ALL ? p[i] : fv_select(mask, p[i], fv_zero()));
            }
        }
    }
}

/// Computes m and alpha of all rows, and turns their scores, 128 per row from s on, into weights, with +0 where a row
/// does not see the key. Where all rows see all of a whole chunk, no masks are made: one row then takes 0.73 of the
/// cycles, eight 0.65 (Zen 4, AVX-512; whole calls from L2 1.0 to 1.04 times as fast, AVX2 1.02 to 1.05).
static inline void decode_softmax(const struct fovea_attention_chunk *chunk, const uint64_t *seen, uint64_t common,
                                  float *s, float *alpha)
{
    const int all = common == attention_all(chunk->state.rows) || (FOVEA_FAULT_IS(DECODE_ALL_OF_FIRST) && (common & 1));
    if (chunk->keys == FOVEA_CHUNK && all) {
        decode_softmax_of(chunk, seen, common, s, alpha, 1);
    } else {
        decode_softmax_of(chunk, seen, common, s, alpha, 0);
    }
}

/// sums[r] = the sum of p[r][0..keys) for some rows, one chain each, `chains` (a constant) of them side by side,
/// because a chain takes 4 cycles per key. The +0 of a key that a row does not see leaves its chain unchanged.
static inline __attribute__((always_inline)) void decode_chains(const float *p, size_t keys, size_t rows, float *sums,
                                                                size_t chains)
{
    const float *row[DECODE_CHAINS];
    float sum[DECODE_CHAINS] = {0};
    for (size_t i = 0; i < chains; i++) { // the last row stands in for missing ones
        row[i] = p + attention_min(i, rows - 1) * FOVEA_CHUNK;
    }
    for (size_t j = 0; j < keys; j++) {
        for (size_t i = 0; i < chains; i++) {
            sum[i] += row[i][FOVEA_FAULT_IS(DECODE_SUM_ORDER) ? keys - 1 - j : j];
        }
    }
    for (size_t lane = 0; lane < chains; lane += FV_LANES) {
        const size_t n = attention_min(FV_LANES, chains - lane);
        fv_f32 of[FV_LANES];
        for (size_t i = 0; i < n; i++) {
            of[i] = fv_set1(lane + i < rows ? sum[lane + i] : 0);
        }
        decode_set_sums(sums + lane, of, (int)n);
    }
}

static void decode_sums(const float *p, size_t keys, size_t rows, float *sums)
{
    for (; rows > DECODE_CHAINS / 2; p += DECODE_CHAINS * FOVEA_CHUNK, sums += DECODE_CHAINS) {
        decode_chains(p, keys, rows, sums, DECODE_CHAINS);
        rows -= attention_min(rows, DECODE_CHAINS);
    }
    if (rows != 0) {
        decode_chains(p, keys, rows, sums, DECODE_CHAINS / 2);
    }
}

#endif
