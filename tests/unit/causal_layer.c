// SPDX-License-Identifier: Apache-2.0
// tests/unit/causal_layer.c - a layer of a decoder-only stack, with rotary positions, a window, a softcap, a scale,
// norms of queries and keys, slopes and sinks: whole, in pieces and token by token with a cache, the bits of its
// operators called one after another; those of a decoder without a memory; and grouped queries as heads whose keys are
// written out. An encoder with a window on both sides.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/keys.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

enum { B = 2, LEN = 21, ROWS = B * LEN, WIDTH = 24, HEADS = 6, KV_HEADS = 2, D = 7, FFN = 33 };

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

// ---- The same from operators ----------------------------------------------------------------------------------------

static float *normed(const struct fovea_layer_desc *d, const struct fovea_norm *norm, const float *x)
{
    struct fovea_rowwise_desc r = FOVEA_ROWWISE_DESC_INIT;
    r.op = d->norm_kind == FOVEA_NORM_RMS ? FOVEA_ROWWISE_RMSNORM : FOVEA_ROWWISE_LAYERNORM;
    r.rows = ROWS, r.cols = r.ldx = r.ldy = WIDTH, r.eps = d->eps;
    float *const y = test_floats(ROWS * WIDTH, TEST_HIGH);
    const struct fovea_rowwise_args a = {.x = x, .gamma = norm->gamma, .beta = norm->beta, .y = y, .rows = ROWS};
    CHECK(!fovea_rowwise_once(engines[0], &r, &a), "norm");
    return y;
}

static float *attended(const struct fovea_layer_desc *d, const struct fovea_layer_args *call, const float *x,
                       const float *residual)
{
    struct fovea_mha_desc m;
    fovea_mha_desc_init(&m, sizeof m);
    m.batch = B, m.q_len = m.kv_len = LEN, m.heads = d->heads, m.kv_heads = d->kv_heads;
    m.qk_dim = m.v_dim = D, m.query_width = m.key_width = m.value_width = m.out_width = WIDTH;
    m.causal = d->causal, m.residual = residual != NULL;
    m.window_left = d->window_left, m.window_right = d->window_right, m.softcap = d->softcap, m.scale = d->scale;
    m.qk_norm = d->qk_norm, m.qk_norm_eps = d->eps;
    m.rotary_dim = d->rotary_dim, m.rotary_adjacent = d->rotary_adjacent, m.rotary_positions = d->rotary_positions;
    float *const y = test_floats(ROWS * WIDTH, TEST_HIGH);
    const struct fovea_mha_args a = {.weights = &call->weights->self_attention,
                                     .query = x,
                                     .key = x,
                                     .value = x,
                                     .residual = residual,
                                     .out = y,
                                     .batch = B,
                                     .q_len = LEN,
                                     .kv_len = LEN,
                                     .rotary_cos = call->rotary_cos,
                                     .rotary_sin = call->rotary_sin,
                                     .slopes = call->slopes,
                                     .sinks = call->sinks};
    CHECK(!fovea_mha_once(engines[0], &m, &a), "mha");
    return y;
}

static float *fed_forward(const struct fovea_layer_desc *d, const struct fovea_layer_weights *w, const float *x,
                          const float *residual)
{
    struct fovea_gemm_desc up = FOVEA_GEMM_DESC_INIT, down = FOVEA_GEMM_DESC_INIT;
    up.b_packed = down.b_packed = 1;
    up.m = down.m = ROWS, up.k = up.lda = down.n = down.ldc = down.ldr = WIDTH;
    up.n = 2 * FFN, up.ldc = down.k = down.lda = FFN;
    up.activation = d->activation, up.gated = 1, down.residual = residual != NULL;
    float *const h = test_floats(ROWS * FFN, TEST_HIGH), *const y = test_floats(ROWS * WIDTH, TEST_HIGH);
    const struct fovea_gemm_args a = {.a = x, .b = w->up.weight, .c = h, .bias = w->up.bias, .m = ROWS},
                                 b = {.a = h,
                                      .b = w->down.weight,
                                      .c = y,
                                      .bias = w->down.bias,
                                      .residual = residual,
                                      .m = ROWS};
    CHECK(!fovea_gemm_once(engines[0], &up, &a) && !fovea_gemm_once(engines[0], &down, &b), "ffn");
    return y;
}

static float *sum(const float *x, const float *x2)
{
    struct fovea_rowwise_desc r = FOVEA_ROWWISE_DESC_INIT;
    r.op = FOVEA_ROWWISE_ADD;
    r.rows = ROWS, r.cols = r.ldx = r.ldx2 = r.ldy = WIDTH;
    float *const y = test_floats(ROWS * WIDTH, TEST_HIGH);
    const struct fovea_rowwise_args a = {.x = x, .x2 = x2, .y = y, .rows = ROWS};
    CHECK(!fovea_rowwise_once(engines[0], &r, &a), "sum");
    return y;
}

static const float *from_operators(const struct fovea_layer_desc *d, const struct fovea_layer_args *a)
{
    const struct fovea_layer_weights *const w = a->weights;
    if (d->norm == FOVEA_NORM_POST) {
        const float *const y = normed(d, &w->norm1, attended(d, a, a->x, a->x));
        return normed(d, &w->norm3, fed_forward(d, w, y, y));
    }
    if (d->norm == FOVEA_NORM_SANDWICH) {
        const float *const given = attended(d, a, normed(d, &w->norm1, a->x), NULL);
        const float *const y = sum(normed(d, &w->norm1_out, given), a->x);
        return sum(normed(d, &w->norm3_out, fed_forward(d, w, normed(d, &w->norm3, y), NULL)), y);
    }
    const float *const y = attended(d, a, normed(d, &w->norm1, a->x), a->x);
    return fed_forward(d, w, normed(d, &w->norm3, y), y);
}

// ---- Against the layer ----------------------------------------------------------------------------------------------

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

// Each option of self-attention alone has an effect.
static void test_each_alone(const struct fovea_layer_desc *d, const struct fovea_layer_args *a, const float *y)
{
    enum { LEFT, RIGHT, SOFTCAP, SCALE, NORM, SLOPES, SINKS, OPTIONS };
    for (int option = 0; option < OPTIONS; option++) {
        struct fovea_layer_desc less = *d;
        struct fovea_layer_args call = *a;
        less.window_left = option == LEFT ? FOVEA_WINDOW_ALL : d->window_left;
        less.window_right = option == RIGHT ? FOVEA_WINDOW_ALL : d->window_right;
        less.softcap = option == SOFTCAP ? 0 : d->softcap;
        less.scale = option == SCALE ? FOVEA_SCALE_DEFAULT : d->scale;
        struct fovea_layer_weights weights = *a->weights;
        if (option == NORM)
            less.qk_norm = 0, weights.self_attention.q_norm = weights.self_attention.k_norm = NULL;
        call.weights = &weights;
        call.slopes = option == SLOPES ? NULL : a->slopes, call.sinks = option == SINKS ? NULL : a->sinks;
        const bool same = test_differ(y, run(engines[0], &less, call, TEST_SERIAL), ROWS * WIDTH) == ROWS * WIDTH;
        CHECK(same == (option == RIGHT && d->causal), "without option %d: %s bits", option,
              same ? "the same" : "other");
    }
}

static void test_refused(struct fovea_layer_desc d, struct fovea_layer_args a)
{
    d.causal = 0, d.cached = 1;
    CHECK(test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1) == FOVEA_ERR_VALUE, "an encoder with a cache");
    d.causal = d.decoder = 1;
    CHECK(test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1) == FOVEA_ERR_VALUE, "a causal decoder");
    d.decoder = 0, d.cached = 0, d.rotary_positions = LEN - 1;
    a.y = test_floats(B * LEN * WIDTH, TEST_HIGH);
    CHECK(test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1) == FOVEA_ERR_SHAPE, "a position too many");
}

static void test_layer_of(enum fovea_norm_place place, enum fovea_norm_kind kind, bool causal)
{
    struct fovea_layer_desc d;
    fovea_layer_desc_init(&d, sizeof d);
    d.causal = causal;
    d.norm = place, d.norm_kind = kind;
    d.activation = FOVEA_ACTIVATION_SILU, d.gated = 1;
    d.batch = B, d.len = LEN, d.width = WIDTH, d.ffn = FFN;
    d.heads = HEADS, d.kv_heads = KV_HEADS, d.qk_dim = d.v_dim = D;
    d.rotary_dim = D - 1, d.rotary_adjacent = place == FOVEA_NORM_PRE, d.rotary_positions = LEN;
    d.window_left = 6, d.softcap = 2, d.scale = 0.6f;
    d.window_right = causal ? FOVEA_WINDOW_ALL : 3;
    d.qk_norm = 1, d.eps = 0.001f;
    const struct fovea_norm norm = {some(WIDTH, 1), some(WIDTH, 1)};
    struct fovea_layer_weights w = {.norm1 = norm, .norm3 = norm, .up = linear(WIDTH, 2 * FFN)};
    w.down = linear(FFN, WIDTH);
    w.self_attention.q = linear(WIDTH, HEADS * D);
    w.self_attention.o = linear(HEADS * D, WIDTH);
    if (place == FOVEA_NORM_SANDWICH) {
        w.norm1_out = (struct fovea_norm){some(WIDTH, 1), some(WIDTH, 1)};
        w.norm3_out = (struct fovea_norm){some(WIDTH, 1), NULL};
    }
    w.self_attention.q_norm = some(D, 1);
    w.self_attention.k_norm = some(D, 1);
    struct fovea_layer_weights written_out = w;
    written_out.self_attention = w.self_attention;
    grouped(&w.self_attention.k, &written_out.self_attention.k);
    grouped(&w.self_attention.v, &written_out.self_attention.v);
    const float *const x = some(B * LEN * WIDTH, 1);
    const float *const cosines = some(LEN * (D - 1) / 2, 1), *const sines = some(LEN * (D - 1) / 2, 1);
    struct fovea_layer_args a = {
        .weights = &w, .x = x, .batch = B, .len = LEN, .beams = 1, .rotary_cos = cosines, .rotary_sin = sines};
    a.slopes = some(HEADS, 0.1f), a.sinks = some(HEADS, 1);
    const float *const expected = from_operators(&d, &a);
    test_each_alone(&d, &a, expected);
    struct fovea_layer_desc all = d;
    all.kv_heads = 0;
    a.weights = &written_out;
    CHECK_SAME(expected, run(engines[0], &all, a, TEST_SERIAL), B * LEN * WIDTH, "keys written out");
    if (place == FOVEA_NORM_PRE && causal) { // cross-attention to nothing adds zeros
        all.causal = 0, all.decoder = 1;
        written_out.cross_attention = written_out.self_attention;
        written_out.cross_attention.o.bias = written_out.cross_attention.q_norm = NULL;
        written_out.cross_attention.k_norm = NULL;
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
        for (size_t piece = 1; piece <= 8 && causal; piece += 7)
            test_pieces(engines[e], test_isas[e], &d, &a, expected, piece);
    }
    if (causal)
        test_refused(d, a);
    test_memory_reset();
}

int main(void)
{
    test_engines(engines);
    test_layer_of(FOVEA_NORM_PRE, FOVEA_NORM_RMS, true);
    test_layer_of(FOVEA_NORM_POST, FOVEA_NORM_LAYER, true);
    test_layer_of(FOVEA_NORM_PRE, FOVEA_NORM_LAYER, false);
    test_layer_of(FOVEA_NORM_SANDWICH, FOVEA_NORM_RMS, true);
    test_engines_free(engines);
    return test_done();
}
