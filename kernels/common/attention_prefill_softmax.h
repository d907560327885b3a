// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_prefill_softmax.h - the scores of a tile's queries become weights; statistics of them.
//
// Part of attention_prefill_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_SOFTMAX_H
#define FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_SOFTMAX_H

#include "kernels/common/attention_prefill_scores.h"

/// Keys outside of which nobody of a panel sees any.
struct prefill_span {
    size_t begin, end;
};

/// The span of the panel that `lane` is in; the first `whole` keys all rows see. A tile under a causal order has up to
/// a third of its weights outside.
static inline struct prefill_span prefill_span(const uint64_t *seen, size_t keys, size_t whole, size_t lane)
{
    const size_t panel = lane / FOVEA_PANEL * FOVEA_PANEL;
    struct prefill_span span = {0, keys};
    while (span.end > whole && (seen[span.end - 1] >> panel & 0xFFFF) == 0) {
        span.end--;
    }
    while (whole == 0 && span.begin < span.end && (seen[span.begin] >> panel & 0xFFFF) == 0) {
        span.begin++;
    }
    span.end -= FOVEA_FAULT_IS(PREFILL_SPAN_SHORT) && span.end > whole;
    return span;
}

/// The maximum over the keys that each lane sees and m; the first `whole` all see. Of these eight at a time: the order
/// of a maximum is free, and one chain takes 4 cycles a key, compare and select up to 8.
static inline fv_f32 prefill_max(size_t keys, size_t whole, const uint64_t *seen, size_t lane, const float *s, fv_f32 m)
{
    enum { CHAINS = 8 };
    fv_f32 max[CHAINS] = {m, m, m, m, m, m, m, m};
    size_t j = 0;
    for (; j + CHAINS <= whole; j += CHAINS) {
        FV_UNROLL
        for (size_t i = 0; i < CHAINS; i++) {
            max[i] = attention_max(fv_load(s + (j + i) * ATTENTION_ROWS), max[i]);
        }
    }
    for (; j + CHAINS <= keys; j += CHAINS) {
        FV_UNROLL
        for (size_t i = 0; i < CHAINS; i++) {
            const uint32_t bits = FOVEA_FAULT_IS(PREFILL_MAX_HIDDEN) ? ~0u : prefill_lanes(seen[j + i], lane);
            const fv_f32 larger = attention_max(fv_load(s + (j + i) * ATTENTION_ROWS), max[i]);
            max[i] = fv_select(fv_mask_bits(bits), larger, max[i]);
        }
    }
    FV_UNROLL
    for (size_t step = CHAINS / 2; step != 0; step /= 2) {
        FV_UNROLL
        for (size_t i = 0; i < step; i++) {
            max[i] = attention_max(max[i], max[i + step]);
        }
    }
    m = max[0];
    for (; j < keys; j++) {
        const fv_mask mask = fv_mask_bits(FOVEA_FAULT_IS(PREFILL_MAX_HIDDEN) ? ~0u : prefill_lanes(seen[j], lane));
        m = fv_select(mask, attention_max(fv_load(s + j * ATTENTION_ROWS), m), m);
    }
    return m;
}

/// Keys whose weights are made side by side: the chain of one is some 60 cycles long, and the scheduler (97 entries on
/// Cascade Lake) holds six of them. 9.2 cycles a vector with the maximum, where one after the other takes 12.2. Each
/// takes three registers: 8 with 32 of them, 4 with 16 (8 spilled a third of what they computed).
enum { PREFILL_EXP = FV_REGISTERS / 4 };

/// n scores from s on become weights, n being a constant. Returns sum and their sums, key after key, each for the lanes
/// that see it; seen: NULL, all do.
static inline __attribute__((always_inline)) fv_f32 prefill_weights(float *s, fv_f32 base, fv_f32 sum, int n,
                                                                    const uint64_t *seen, size_t lane)
{
    fv_f32 p[PREFILL_EXP];
    FV_UNROLL
    for (int i = 0; i < n; i++) {
        p[i] = fv_load(s + i * ATTENTION_ROWS);
    }
    attention_weights(p, base, n);
    FV_UNROLL
    for (int i = 0; i < n; i++) {
        const fv_f32 grown = fv_add(sum, p[i]);
        sum = seen ? fv_select(fv_mask_bits(prefill_lanes(seen[i], lane)), grown, sum) : grown;
        fv_store(s + i * ATTENTION_ROWS, p[i]);
    }
    return sum;
}

/// m, l, alpha of the vector of rows at `lane` whose new maximum is m, and its scores become weights, as far as its
/// span goes. The first `whole` keys all rows see.
static void prefill_softmax(const struct fovea_attention_chunk *chunk, const uint64_t *seen, size_t whole, size_t lane,
                            struct prefill_span span, fv_f32 m, float *s, float *alpha)
{
    const struct fovea_attention_state *const state = &chunk->state;
    const fv_f32 old = fv_load(state->m + lane), l = fv_load(state->l + lane);
    const fv_f32 base = attention_base(m);
    fv_f32 sum = fv_zero();
    size_t j = span.begin;
    for (; j + PREFILL_EXP <= whole; j += PREFILL_EXP) {
        sum = prefill_weights(s + j * ATTENTION_ROWS + lane, base, sum, PREFILL_EXP, NULL, lane);
    }
    for (; j + PREFILL_EXP <= span.end; j += PREFILL_EXP) {
        sum = prefill_weights(s + j * ATTENTION_ROWS + lane, base, sum, PREFILL_EXP, seen + j, lane);
    }
    for (; j < span.end; j++) {
        sum = prefill_weights(s + j * ATTENTION_ROWS + lane, base, sum, 1, seen + j, lane);
    }
    const fv_f32 shrink = attention_weight(old, base);
    const fv_f32 grown = FOVEA_FAULT_IS(PREFILL_L_NO_ALPHA) ? fv_add(l, sum) : fv_fma(l, shrink, sum);
    const int blind = whole == 0 && !FOVEA_FAULT_IS(PREFILL_EMPTY_TOUCHED); // some row may see no key at all
    const uint32_t any = blind ? prefill_lanes(attention_any(seen, chunk->keys), lane) : ~0u;
    fv_store(alpha + lane, shrink);
    fv_store(state->m + lane, m);
    fv_store(state->l + lane, fv_select(fv_mask_bits(any), grown, l));
}

/// The first key of score m[i] becomes the top of row lane + i, for the rows of `bits`.
static void prefill_top(const struct fovea_attention_chunk *chunk, const uint64_t *seen, size_t lane, uint32_t bits,
                        const float *s, const float *m)
{
    for (size_t i = 0; i < FV_LANES; i++) {
        for (size_t j = 0; j < chunk->keys && (bits >> i & 1); j++) {
            if ((seen[j] >> (lane + i) & 1) && s[j * ATTENTION_ROWS + lane + i] == m[i]) {
                chunk->state.top[lane + i] = chunk->key + (uint32_t)j;
                break;
            }
        }
    }
}

/// Statistics, before the softmax takes the scores. The weights are made twice: a fifth more time, where asked for.
static void prefill_statistics(const struct fovea_attention_chunk *chunk, const uint64_t *seen, const float *s)
{
    const struct fovea_attention_state *const state = &chunk->state;
    for (size_t lane = 0; lane < state->rows; lane += FV_LANES) {
        const fv_f32 old = fv_load(state->m + lane), m = prefill_max(chunk->keys, 0, seen, lane, s + lane, old);
        const fv_f32 base = attention_base(m), before = fv_load(state->spread + lane);
        fv_f32 spread = fv_zero();
        for (size_t j = 0; j < chunk->keys; j++) {
            const uint32_t bits = prefill_lanes(seen[j], lane);
            if (bits != 0) {
                const fv_f32 score = fv_load(s + j * ATTENTION_ROWS + lane);
                const fv_f32 x = attention_exponent(score, base), p = attention_weight(score, base);
                spread = fv_fma_masked(fv_mask_bits(bits), p, x, spread);
            }
        }
        const fv_f32 shifted = attention_shifted(old, base, fv_load(state->l + lane), before);
        const fv_mask any = fv_mask_bits(prefill_lanes(attention_any(seen, chunk->keys), lane));
        fv_store(state->spread + lane, fv_select(any, fv_fma(shifted, attention_weight(old, base), spread), before));
        float most[FV_LANES];
        fv_store(most, m);
        const uint32_t risen = fv_bits(fv_gt(m, old));
        if (risen != 0) {
            prefill_top(chunk, seen, lane, risen, s, most);
        }
    }
}

#endif
