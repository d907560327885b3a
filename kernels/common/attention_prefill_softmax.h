// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_prefill_softmax.h - turns the scores of a tile's queries into weights; their statistics.
//
// Part of attention_prefill_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_SOFTMAX_H
#define FOVEA_KERNELS_COMMON_ATTENTION_PREFILL_SOFTMAX_H

#include "kernels/common/attention_prefill_scores.h"

/// A range of keys outside of which no row of a panel sees any.
struct prefill_span {
    size_t begin, end;
};

/// The span of the panel that contains `lane`; all rows see the first `whole` keys. In a tile under causal order up to
/// a third of the weights are outside the spans.
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

/// The maximum of m and of the scores of the keys that each lane sees; all lanes see the first `whole`. Eight chains of
/// maxima run side by side: the order of a maximum is free, and a single chain takes 4 cycles a key, with compare and
/// select up to 8.
static inline fv_f32 prefill_max(size_t keys, size_t whole, const uint64_t *seen, size_t lane, const float *s, fv_f32 m)
{
    enum { CHAINS = 8 };
    fv_f32 max[CHAINS];
    FV_UNROLL
    for (size_t i = 0; i < CHAINS; i++) {
        max[i] = fv_set1(-INFINITY);
    }
    size_t j = 0;
    for (; j + CHAINS <= whole; j += CHAINS) {
        FV_UNROLL
        for (size_t i = 0; i < CHAINS; i++) {
            max[i] = attention_most(fv_load(s + (j + i) * ATTENTION_ROWS), max[i]);
        }
    }
    for (; j + CHAINS <= keys; j += CHAINS) {
        FV_UNROLL
        for (size_t i = 0; i < CHAINS; i++) {
            const uint32_t bits = FOVEA_FAULT_IS(PREFILL_MAX_HIDDEN) ? ~0u : prefill_lanes(seen[j + i], lane);
            const fv_f32 larger = attention_most(fv_load(s + (j + i) * ATTENTION_ROWS), max[i]);
            max[i] = fv_select(fv_mask_bits(bits), larger, max[i]);
        }
    }
    FV_UNROLL
    for (size_t i = 0; i < CHAINS / 2; i++) { // each level of its own, or gcc keeps max in memory
        max[i] = attention_most(max[i], max[i + CHAINS / 2]);
    }
    m = attention_max(attention_most(attention_most(max[0], max[2]), attention_most(max[1], max[3])), m);
    for (; j < keys; j++) {
        const fv_mask mask = fv_mask_bits(FOVEA_FAULT_IS(PREFILL_MAX_HIDDEN) ? ~0u : prefill_lanes(seen[j], lane));
        m = fv_select(mask, attention_max(fv_load(s + j * ATTENTION_ROWS), m), m);
    }
    return m;
}

/// Weights that are computed side by side. The second half of a weight is six dependent FMAs; the first half and the
/// rest use other ports. So the first half of the next weights is computed along with the second half of these: on Zen
/// 4 a vector takes 8.3 cycles of at least 7.5, AVX2 6.0, where eight (AVX2 four) whole weights side by side took 9.8
/// and 7.8. With more than these gcc spills.
enum { PREFILL_SIDE = FV_REGISTERS / 8, PREFILL_VECTORS = ATTENTION_ROWS / FV_LANES };

/// The first half of the weights of `each` keys from s on, for `vecs` vectors.
static inline __attribute__((always_inline)) void prefill_begin(const float *s, const fv_f32 *base, int vecs, int each,
                                                                fv_f32 *x, fv_i32 *i)
{
    FV_UNROLL
    for (int n = 0; n < vecs * each; n++) {
        x[n] = attention_power(fv_load(s + n / vecs * ATTENTION_ROWS + n % vecs * FV_LANES), base[n % vecs]);
    }
    fv_exp2_split_each(x, i, vecs * each);
}

/// Turns the scores of some keys from s on into weights, `each` keys and `vecs` vectors at a time, both constants. Each
/// sum adds its own weights, key after key, for the lanes that see the key; with seen NULL all do.
static inline __attribute__((always_inline)) void prefill_weights(float *s, size_t keys, const fv_f32 *base,
                                                                  fv_f32 *sum, int vecs, int each, const uint64_t *seen,
                                                                  size_t lane)
{
    fv_f32 x[PREFILL_SIDE], later[PREFILL_SIDE], from[PREFILL_SIDE], total[PREFILL_SIDE];
    fv_i32 i[PREFILL_SIDE], later_i[PREFILL_SIDE];
    FV_UNROLL
    for (int v = 0; v < vecs; v++) { // local copies, which stores of weights cannot change
        from[v] = base[v];
        total[v] = sum[v];
    }
    if (keys != 0) {
        prefill_begin(s, from, vecs, each, x, i);
    }
    for (size_t j = 0; j < keys; j += (size_t)each, s += each * ATTENTION_ROWS) {
        prefill_begin(j + (size_t)each < keys ? s + each * ATTENTION_ROWS : s, from, vecs, each, later, later_i);
        fv_exp2_join_each(x, i, vecs * each);
        FV_UNROLL
        for (int n = 0; n < vecs * each; n++) {
            const int v = n % vecs;
            const fv_f32 grown = fv_add(total[v], x[n]);
            total[v] = seen
                           ? fv_select(fv_mask_bits(prefill_lanes(seen[j + (size_t)(n / vecs)], lane)), grown, total[v])
                           : grown;
            fv_store(s + n / vecs * ATTENTION_ROWS + v * FV_LANES, x[n]);
            x[n] = later[n];
            i[n] = later_i[n];
        }
    }
    FV_UNROLL
    for (int v = 0; v < vecs; v++) {
        sum[v] = total[v];
    }
}

/// The weights of the first `keys` keys (a multiple of PREFILL_SIDE), which all rows see, for `vectors` vectors. base
/// is only read; gcc 12 at -O2 warns of a const pointer to it, because it cannot tell that the caller has set it.
static void prefill_all_weights(float *s, size_t keys, fv_f32 *base, fv_f32 *sum, size_t vectors)
{
    for (size_t done = 0, vecs; done < vectors; done += vecs, s += vecs * FV_LANES, base += vecs, sum += vecs) {
        vecs = attention_min(PREFILL_SIDE, vectors - done);
        if (vecs == 1) {
            prefill_weights(s, keys, base, sum, 1, PREFILL_SIDE, NULL, 0);
        } else if (vecs == 2) {
            prefill_weights(s, keys, base, sum, 2, PREFILL_SIDE / 2, NULL, 0);
        } else if (PREFILL_SIDE > 2 && vecs == 3) {
            prefill_weights(s, keys, base, sum, 3, 1, NULL, 0);
        } else if (PREFILL_SIDE > 2) {
            prefill_weights(s, keys, base, sum, 4, 1, NULL, 0);
        }
    }
}

/// Computes m, l and alpha of the tile, whose new maxima are `most`, and turns its scores into weights within their
/// spans. All rows see the first `whole` keys.
static void prefill_softmax(const struct fovea_attention_chunk *chunk, const uint64_t *seen, size_t whole,
                            const struct prefill_span *span, const float *most, float *s, float *alpha)
{
    const struct fovea_attention_state *const state = &chunk->state;
    const size_t vectors = (state->rows + FV_LANES - 1) / FV_LANES, begin = whole - whole % PREFILL_SIDE;
    fv_f32 base[PREFILL_VECTORS], sum[PREFILL_VECTORS];
    for (size_t v = 0; v < vectors; v++) {
        base[v] = attention_base(fv_load(most + v * FV_LANES));
        sum[v] = fv_zero();
    }
    prefill_all_weights(s, begin, base, sum, vectors);
    for (size_t v = 0; v < vectors; v++) {
        const size_t lane = v * FV_LANES, j = begin != 0 ? begin : span[v].begin, keys = span[v].end - j;
        const size_t some = keys - keys % PREFILL_SIDE;
        float *const at = s + j * ATTENTION_ROWS + lane;
        prefill_weights(at, some, base + v, sum + v, 1, PREFILL_SIDE, seen + j, lane);
        prefill_weights(at + some * ATTENTION_ROWS, keys - some, base + v, sum + v, 1, 1, seen + j + some, lane);
        const fv_f32 m = fv_load(most + lane), l = fv_load(state->l + lane);
        const fv_f32 shrink = attention_weight(fv_load(state->m + lane), base[v]);
        const fv_f32 grown = FOVEA_FAULT_IS(PREFILL_L_NO_ALPHA) ? fv_add(l, sum[v]) : fv_fma(l, shrink, sum[v]);
        const int blind = whole == 0 && !FOVEA_FAULT_IS(PREFILL_EMPTY_TOUCHED); // some row may see no key at all
        const uint32_t any = blind ? prefill_lanes(attention_any(seen, chunk->keys), lane) : ~0u;
        fv_store(alpha + lane, shrink);
        fv_store(state->m + lane, m);
        fv_store(state->l + lane, fv_select(fv_mask_bits(any), grown, l));
    }
}

/// Sets the top of row lane + i to the first key whose score is m[i], for the rows of `bits`.
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

/// Statistics, computed before the softmax overwrites the scores. The weights are computed twice, which takes a fifth
/// more time if statistics are requested.
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
