// SPDX-License-Identifier: Apache-2.0
// tests/unit/layer_cases.h - layers with caches, for tests of sequences that are computed together.
#ifndef FOVEA_TESTS_UNIT_LAYER_CASES_H
#define FOVEA_TESTS_UNIT_LAYER_CASES_H

#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

#include <stdbool.h>

enum { CAPACITY = 150, MEMORY = 9, WIDTH = 24, HEADS = 4, KV_HEADS = 2, D = 6, DV = 5, FFN = 33, KV = KV_HEADS * D };

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
    return (struct fovea_mha_weights){q, k, linear(WIDTH, KV_HEADS * DV), linear(HEADS * DV, WIDTH)};
}

/// A decoder or a layer of a decoder-only stack, and its weights.
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
    const struct fovea_norm norm = {some(WIDTH, 1), some(WIDTH, 1)};
    *w = (struct fovea_layer_weights){.self_attention = attention_weights(), .norm1 = norm, .norm3 = norm};
    w->up = linear(WIDTH, d->gated ? 2 * FFN : FFN), w->down = linear(FFN, WIDTH);
    if (decoder)
        w->cross_attention = attention_weights(), w->norm2 = norm;
}

/// With `keys[b]` keys of each sequence, and NaN beyond them.
static inline struct fovea_kv_cache cache_of(size_t batch, size_t capacity, const size_t *keys, size_t *k, size_t *v)
{
    struct fovea_kv_cache c = {
        .struct_size = sizeof c, .batch = batch, .kv_heads = KV_HEADS, .capacity = capacity, .qk_dim = D, .v_dim = DV};
    CHECK(!fovea_kv_cache_size(&c, k, v), "cache");
    c.k = test_floats(*k, TEST_HIGH), c.v = test_floats(*v, TEST_HIGH);
    for (size_t b = 0; b < batch; b++)
        CHECK(!fovea_kv_append(&c, b, 0, keys[b], some(keys[b] * KV, 1), (struct fovea_strides){0, D, KV},
                               some(keys[b] * KV, 1), (struct fovea_strides){0, DV, KV}),
              "append");
    return c;
}

/// The block of sequence b, as a cache of its own.
static inline struct fovea_kv_cache view_of(const struct fovea_kv_cache *cache, size_t b)
{
    struct fovea_strides k, v;
    struct fovea_kv_cache view = *cache;
    CHECK(!fovea_kv_cache_strides(cache, &k, &v), "strides");
    view.batch = 1, view.k += b * k.batch, view.v += b * v.batch;
    return view;
}

static inline struct fovea_kv_cache copy_of(struct fovea_kv_cache cache, size_t k, size_t v)
{
    const float *const from_k = cache.k, *const from_v = cache.v;
    cache.k = test_floats(k, TEST_HIGH), cache.v = test_floats(v, TEST_HIGH);
    memcpy(cache.k, from_k, k * sizeof *from_k);
    memcpy(cache.v, from_v, v * sizeof *from_v);
    return cache;
}

static inline void compare(const char *what, const char *isa, const float *expected, const float *got, size_t n)
{
    const size_t at = test_differ(expected, got, n);
    CHECK(at == n, "%s, %s: element %zu is %a, expected %a", what, isa, at, (double)got[at % n],
          (double)expected[at % n]);
}

#endif
