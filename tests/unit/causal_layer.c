// SPDX-License-Identifier: Apache-2.0
// tests/unit/causal_layer.c - a layer of a decoder-only stack, with rotary positions: whole, in pieces and token by
// token with a cache, the same bits; those of a decoder without a memory; and grouped queries as heads whose keys are
// written out.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/keys.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

enum { B = 2, LEN = 21, WIDTH = 24, HEADS = 6, KV_HEADS = 2, D = 7, FFN = 33 };

static struct fovea_engine *engines[TEST_ISAS];
static uint64_t rng = 11;

static float *some(size_t n, float scale)
{
    return test_some(n, scale, &rng);
}

static struct fovea_linear linear(size_t inputs, size_t outputs)
{
    return test_linear(engines[0], inputs, outputs, true, &rng);
}

// A projection of key heads, and the same with each of them as often as query heads share it.
static void grouped(struct fovea_linear *few, struct fovea_linear *written_out)
{
    enum { EACH = HEADS / KV_HEADS };
    const float *const w = some(KV_HEADS * D * WIDTH, 0.4f), *const bias = some(KV_HEADS * D, 0.2f);
    float *const all = test_floats(HEADS * D * WIDTH, TEST_HIGH), *const biases = test_floats(HEADS * D, TEST_HIGH);
    for (size_t h = 0; h < HEADS; h++) {
        memcpy(all + h * D * WIDTH, w + h / EACH * D * WIDTH, D * WIDTH * sizeof *all);
        memcpy(biases + h * D, bias + h / EACH * D, D * sizeof *biases);
    }
    *few = (struct fovea_linear){test_packed(engines[0], w, WIDTH, KV_HEADS * D), bias};
    *written_out = (struct fovea_linear){test_packed(engines[0], all, WIDTH, HEADS * D), biases};
}

static float *run(const struct fovea_engine *engine, const struct fovea_layer_desc *d, struct fovea_layer_args a,
                  enum test_way way)
{
    float *const y = test_floats(a.batch * a.len * WIDTH, TEST_HIGH);
    a.y = y;
    CHECK(!test_run(&test_layer, engine, d, &a, way, 5), "layer");
    return y;
}

// Position by position, or some at once.
static void test_pieces(const struct fovea_engine *engine, const char *isa, const struct fovea_layer_desc *whole,
                        const struct fovea_layer_args *all, const float *expected, size_t piece)
{
    struct fovea_layer_desc d = *whole;
    d.cached = 1;
    d.kv_len = LEN;
    const struct fovea_kv_cache cache = test_cache(B, d.kv_heads, LEN, D, D);
    for (size_t at = 0; at < LEN; at += piece) {
        const size_t len = at + piece < LEN ? piece : LEN - at;
        float *const in = test_floats(B * len * WIDTH, TEST_HIGH);
        for (size_t b = 0; b < B; b++)
            memcpy(in + b * len * WIDTH, all->x + (b * LEN + at) * WIDTH, len * WIDTH * sizeof *in);
        struct fovea_layer_args a = *all;
        a.x = in, a.len = len, a.position = at, a.self_cache = &cache;
        const float *const y = run(engine, &d, a, (enum test_way)(at % TEST_WAYS));
        for (size_t b = 0; b < B; b++)
            CHECK_SAME(expected + (b * LEN + at) * WIDTH, y + b * len * WIDTH, len * WIDTH, "in pieces, %s", isa);
    }
}

static void test_layer_of(enum fovea_norm_place place, enum fovea_norm_kind kind)
{
    struct fovea_layer_desc d;
    fovea_layer_desc_init(&d, sizeof d);
    d.causal = 1;
    d.norm = place, d.norm_kind = kind;
    d.activation = FOVEA_ACTIVATION_SILU, d.gated = 1;
    d.batch = B, d.len = LEN, d.width = WIDTH, d.ffn = FFN;
    d.heads = HEADS, d.kv_heads = KV_HEADS, d.qk_dim = d.v_dim = D;
    d.rotary_dim = D - 1, d.rotary_adjacent = place == FOVEA_NORM_PRE, d.rotary_positions = LEN;
    const struct fovea_norm norm = {some(WIDTH, 1), some(WIDTH, 1)};
    struct fovea_layer_weights w = {.norm1 = norm, .norm3 = norm, .up = linear(WIDTH, 2 * FFN)};
    w.down = linear(FFN, WIDTH);
    w.self_attention.q = linear(WIDTH, HEADS * D);
    w.self_attention.o = linear(HEADS * D, WIDTH);
    struct fovea_layer_weights written_out = w;
    written_out.self_attention = w.self_attention;
    grouped(&w.self_attention.k, &written_out.self_attention.k);
    grouped(&w.self_attention.v, &written_out.self_attention.v);
    const float *const x = some(B * LEN * WIDTH, 1);
    const float *const cosines = some(LEN * (D - 1) / 2, 1), *const sines = some(LEN * (D - 1) / 2, 1);
    struct fovea_layer_args a = {
        .weights = &w, .x = x, .batch = B, .len = LEN, .beams = 1, .rotary_cos = cosines, .rotary_sin = sines};
    const float *const expected = run(engines[0], &d, a, TEST_SERIAL);
    struct fovea_layer_desc all = d;
    all.kv_heads = 0;
    a.weights = &written_out;
    CHECK_SAME(expected, run(engines[0], &all, a, TEST_SERIAL), B * LEN * WIDTH, "keys written out");
    if (place == FOVEA_NORM_PRE) { // cross-attention to nothing adds zeros
        all.causal = 0, all.decoder = 1;
        written_out.cross_attention = written_out.self_attention;
        written_out.cross_attention.o.bias = NULL;
        written_out.norm2 = norm;
        CHECK_SAME(expected, run(engines[0], &all, a, TEST_SERIAL), B * LEN * WIDTH, "a decoder without a memory");
    }
    a.weights = &w;
    for (int e = 0; e < TEST_ISAS; e++) {
        if (!engines[e])
            continue;
        for (int way = 0; way < TEST_WAYS; way++)
            CHECK_SAME(expected, run(engines[e], &d, a, (enum test_way)way), B * LEN * WIDTH, "whole, %s",
                       test_isas[e]);
        test_pieces(engines[e], test_isas[e], &d, &a, expected, 1);
        test_pieces(engines[e], test_isas[e], &d, &a, expected, 8);
    }
    d.causal = 0, d.cached = 1;
    CHECK(test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1) == FOVEA_ERR_SHAPE, "an encoder with a cache");
    d.causal = d.decoder = 1;
    CHECK(test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1) == FOVEA_ERR_VALUE, "a causal decoder");
    d.decoder = 0, d.cached = 0, d.rotary_positions = LEN - 1;
    a.y = test_floats(B * LEN * WIDTH, TEST_HIGH);
    CHECK(test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1) == FOVEA_ERR_SHAPE, "a position too many");
    test_memory_reset();
}

int main(void)
{
    test_engines(engines);
    test_layer_of(FOVEA_NORM_PRE, FOVEA_NORM_RMS);
    test_layer_of(FOVEA_NORM_POST, FOVEA_NORM_LAYER);
    test_engines_free(engines);
    return test_done();
}
