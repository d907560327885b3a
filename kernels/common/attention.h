// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention.h - shared by the attention kernels: which keys are seen, softmax factors, biases.
//
// Included after an ISA's vec.h. The arithmetic is docs/numerics.md section 3, bit for bit.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_H
#define FOVEA_KERNELS_COMMON_ATTENTION_H

#include "kernels/common/exp2.h"
#include "kernels/fault.h"

#include <math.h>

static inline size_t attention_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/// n rounded up to whole panels.
static inline size_t attention_round(size_t n)
{
    return (n + FOVEA_PANEL - 1) / FOVEA_PANEL * FOVEA_PANEL;
}

// ---- Which row sees which key ----------------------------------------------------------------------------------

/// The bits of all rows of a tile.
static inline uint64_t attention_all(size_t rows)
{
    return ~UINT64_C(0) >> (FOVEA_TILE_ROWS_MAX - rows);
}

/// seen[j]: bit r is set if the masks let row r see key j. A bias may still hide it: attention_add_bias.
static inline void attention_seen(const struct fovea_attention_chunk *chunk, uint64_t seen[FOVEA_CHUNK])
{
    const uint64_t all = attention_all(chunk->state.rows);
    for (size_t j = 0; j < chunk->keys; j++) {
        seen[j] = chunk->visible ? chunk->visible[j] & all : all;
    }
}

/// The rows that see at least one key.
static inline uint64_t attention_any(const uint64_t *seen, size_t keys)
{
    uint64_t any = 0;
    for (size_t j = 0; j < keys; j++) {
        any |= seen[j];
    }
    return any;
}

/// The rows that see every key.
static inline uint64_t attention_common(const uint64_t *seen, size_t keys)
{
    uint64_t common = ~UINT64_C(0);
    for (size_t j = 0; j < keys; j++) {
        common &= seen[j];
    }
    return common;
}

/// The end of the run of keys from j on that are like key j: either seen by exactly `rows`, or not. Mostly all keys of
/// a chunk are alike, so they are compared in vectors, and one by one only where they differ.
static inline size_t attention_run(const uint64_t *seen, size_t keys, size_t j, uint64_t rows)
{
    enum { STEP = 8 };
    const uint64_t first = seen[j] == rows;
    size_t end = j;
    for (uint64_t other = 0; end + STEP <= keys; end += STEP) {
        for (size_t i = 0; i < STEP; i++) {
            other |= (seen[end + i] == rows) ^ first;
        }
        if (other) {
            break;
        }
    }
    while (end < keys && (seen[end] == rows) == first) {
        end++;
    }
    return end;
}

// ---- Softmax ---------------------------------------------------------------------------------------------------

/// s > m ? s : m: a NaN in s leaves m.
static inline fv_f32 attention_max(fv_f32 s, fv_f32 m)
{
    return FOVEA_FAULT_IS(ATTENTION_MAX_TAKES_NAN) ? fv_max(m, s) : fv_max(s, m);
}

/// The same where m is no NaN, and the sign of a zero does not matter: maxima of scores, which begin at -inf. (A NaN in
/// s is quiet, as scores are results.)
static inline fv_f32 attention_most(fv_f32 s, fv_f32 m)
{
    return FOVEA_FAULT_IS(ATTENTION_MAX_TAKES_NAN) ? fv_max(m, s) : fv_most(s, m);
}

/// The value subtracted from the scores: the maximum, or +0 while that is -inf.
static inline fv_f32 attention_base(fv_f32 m)
{
    return fv_select(fv_eq(m, fv_set1(-INFINITY)), fv_zero(), m);
}

/// The exponent of the weight of score s as a power of 2.
static inline fv_f32 attention_power(fv_f32 s, fv_f32 base)
{
    return fv_mul(fv_sub(s, base), fv_set1(fv_ln2e));
}

/// The weights p of n vectors of scores, a constant of at most 8, side by side. s <= base if both are numbers.
static inline __attribute__((always_inline)) void attention_weight_each(fv_f32 *s, fv_f32 base, int n)
{
    const fv_f32 ln2e = fv_set1(fv_ln2e);
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        const fv_f32 folded = fv_fma(s[j], ln2e, fv_mul(base, fv_sub(fv_zero(), ln2e)));
        s[j] = FOVEA_FAULT_IS(ATTENTION_SCALE_FOLDED) ? folded : attention_power(s[j], base);
    }
    fv_exp2_to_128_each(s, n);
}

/// The weight p of the score s; also the factor by which a state of maximum s shrinks.
static inline fv_f32 attention_weight(fv_f32 s, fv_f32 base)
{
    attention_weight_each(&s, base, 1);
    return s;
}

/// x of the score s, as used by the statistics: its exponent as a power of 2 relative to base.
static inline fv_f32 attention_exponent(fv_f32 s, fv_f32 base)
{
    return fv_at_least(attention_power(s, base), -127.0f);
}

/// The sum of p x of rows whose maximum changes from m to base, before the weights shrink.
static inline fv_f32 attention_shifted(fv_f32 m, fv_f32 base, fv_f32 l, fv_f32 spread)
{
    return FOVEA_FAULT_IS(ATTENTION_SPREAD_UNSHIFTED) ? spread : fv_fma(attention_exponent(m, base), l, spread);
}

// ---- Softcap, ALiBi, dropout -------------------------------------------------------------------------------------

static inline fv_f32 attention_cap(const struct fovea_attention_chunk *chunk, fv_f32 s)
{
    return fv_mul(fv_set1(chunk->softcap), fv_tanh(fv_mul(s, fv_set1(chunk->cap_inverse))));
}

/// The score s after ALiBi, for keys at `key` and rows at `position`.
static inline fv_f32 attention_fall(fv_f32 fall, fv_f32 key, fv_f32 position, fv_f32 s)
{
    const fv_f32 away = fv_sub(key, position);
    return fv_fma(fall, FOVEA_FAULT_IS(ATTENTION_ALIBI_SIGNED) ? away : fv_abs(away), s);
}

/// keep ? p * scale : +0
static inline fv_f32 attention_drop(fv_mask keep, fv_f32 p, float scale)
{
    return fv_select(keep, FOVEA_FAULT_IS(ATTENTION_KEPT_UNSCALED) ? p : fv_mul(p, fv_set1(scale)), fv_zero());
}

// ---- Bias ------------------------------------------------------------------------------------------------------

/// The biases of row r for keys j .. j + n - 1, n <= 16; the other elements of out become +0.
static inline void attention_bias(const struct fovea_attention_chunk *chunk, size_t r, size_t j, size_t n,
                                  float out[FOVEA_PANEL])
{
    const float *const bias = chunk->bias[r] + (ptrdiff_t)j * chunk->bias_key;
    if (chunk->bias_key == 1) {
        for (size_t i = 0; i < FOVEA_PANEL; i += FV_LANES) {
            const size_t left = n > i ? n - i : 0;
            fv_store(out + i, left < FV_LANES ? fv_load_tail(bias + i, left) : fv_load(bias + i));
        }
    } else {
        for (size_t i = 0; i < FOVEA_PANEL; i++) {
            out[i] = i < n ? bias[(ptrdiff_t)i * chunk->bias_key] : 0.0f;
        }
    }
}

/// s[0..16) += bias[0..16). Returns the bits of the elements that a bias of -inf hides.
static inline uint32_t attention_add_bias(float *s, const float *bias)
{
    uint32_t hidden = 0;
    for (size_t i = 0; i < FOVEA_PANEL; i += FV_LANES) {
        const fv_f32 b = fv_load(bias + i);
        hidden |= fv_bits(fv_eq(b, fv_set1(-INFINITY))) << i;
        fv_store(s + i, fv_add(fv_load(s + i), b));
    }
    return FOVEA_FAULT_IS(ATTENTION_BIAS_INF_SEEN) ? 0 : hidden;
}

#endif
