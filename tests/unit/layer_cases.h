// SPDX-License-Identifier: Apache-2.0
// tests/unit/layer_cases.h - layers with caches, for tests of sequences that are computed together.
#ifndef FOVEA_TESTS_UNIT_LAYER_CASES_H
#define FOVEA_TESTS_UNIT_LAYER_CASES_H

#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/keys.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

#include <stdbool.h>

enum { CAPACITY = 150, MEMORY = 9, WIDTH = 24, HEADS = 4, KV_HEADS = 2, D = 6, DV = 5, FFN = 33 };

static struct fovea_engine *engines[TEST_ISAS];
static uint64_t rng = 23;

static inline float *some(size_t n, float scale)
{
    return test_some(n, scale, &rng);
}

static inline struct fovea_linear linear(size_t inputs, size_t outputs)
{
    return test_linear(engines[0], inputs, outputs, true, &rng);
}

static inline struct fovea_mha_weights attention_weights(void)
{
    const struct fovea_linear q = linear(WIDTH, HEADS * D), k = linear(WIDTH, KV_HEADS * D);
    const struct fovea_linear v = linear(WIDTH, KV_HEADS * DV);
    return (struct fovea_mha_weights){.q = q, .k = k, .v = v, .o = linear(HEADS * DV, WIDTH)};
}

/// A decoder or a layer of a decoder-only stack, and its weights. Rotary ones also have whatever else today's models
/// have: RMSNorm, a gated FFN, and in self-attention a window, a softcap, a scale, and norms of queries and keys.
static inline void draw(size_t batch, bool decoder, enum fovea_norm_place place, bool rotary,
                        struct fovea_layer_desc *d, struct fovea_layer_weights *w)
{
    fovea_layer_desc_init(d, sizeof *d);
    d->decoder = decoder, d->causal = !decoder, d->cached = 1;
    d->norm = place, d->norm_kind = rotary ? FOVEA_NORM_RMS : FOVEA_NORM_LAYER;
    d->activation = FOVEA_ACTIVATION_SILU, d->gated = rotary;
    d->batch = batch, d->len = CAPACITY, d->kv_len = CAPACITY, d->width = WIDTH, d->ffn = FFN;
    d->memory_len = decoder ? MEMORY : 0, d->beams = decoder ? 2 : 1;
    d->heads = HEADS, d->kv_heads = KV_HEADS, d->qk_dim = D, d->v_dim = DV;
    d->rotary_dim = rotary ? D : 0, d->rotary_positions = rotary ? CAPACITY : 0;
    if (rotary)
        d->window_left = 19, d->softcap = 2, d->scale = 0.6f, d->qk_norm = 1;
    const struct fovea_norm norm = {some(WIDTH, 1), some(WIDTH, 1)};
    *w = (struct fovea_layer_weights){.self_attention = attention_weights(), .norm1 = norm, .norm3 = norm};
    if (rotary)
        w->self_attention.q_norm = some(D, 1), w->self_attention.k_norm = some(D, 1);
    w->up = linear(WIDTH, d->gated ? 2 * FFN : FFN), w->down = linear(FFN, WIDTH);
    if (decoder)
        w->cross_attention = attention_weights(), w->norm2 = norm;
    if (place == FOVEA_NORM_SANDWICH) {
        const struct fovea_norm first = {some(WIDTH, 1), some(WIDTH, 1)}, third = {some(WIDTH, 1), NULL};
        w->norm1_out = first, w->norm3_out = third;
        w->norm2_out = decoder ? norm : w->norm2_out;
    }
}

/// What a call of such a layer takes for its self-attention: rotary positions, slopes and sinks.
static inline void give_options(const struct fovea_layer_desc *d, struct fovea_layer_args *a)
{
    if (d->rotary_dim == 0)
        return;
    a->rotary_cos = some(CAPACITY * D / 2, 1), a->rotary_sin = some(CAPACITY * D / 2, 1);
    a->slopes = some(HEADS, 0.1f), a->sinks = some(HEADS, 1);
}

/// With `keys[b]` keys of each sequence, and NaN beyond them.
static inline struct fovea_kv_cache typed_cache_of(enum fovea_type type, size_t batch, size_t capacity,
                                                   const size_t *keys)
{
    const struct fovea_kv_cache c = test_typed_cache(type, batch, KV_HEADS, capacity, D, DV);
    for (size_t b = 0; b < batch; b++)
        test_fill_cache(&c, b, keys[b], &rng);
    return c;
}

static inline struct fovea_kv_cache cache_of(size_t batch, size_t capacity, const size_t *keys)
{
    return typed_cache_of(FOVEA_F32, batch, capacity, keys);
}

#endif
