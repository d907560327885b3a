// SPDX-License-Identifier: Apache-2.0
// tests/unit/nn_dropout.c - training and evaluation of multi-head attention and layers: what is dropped is what the
// operators of ops/ drop one after another, to the bit; evaluation and p = 0 give the bits of a plan without dropout.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

#include <stdbool.h>

enum { B = 2, LEN = 19, MEMORY = 7, WIDTH = 24, HEADS = 3, D = 8, DV = 5, FFN = 37, SITE = 40 };
static const uint64_t seed_of_run = 0x123456789abcdef0u;

static struct fovea_engine *engines[TEST_ISAS];
static uint64_t random_state = 7;

static float *some(size_t n, float scale)
{
    return test_some(n, scale, &random_state);
}

static struct fovea_linear linear(size_t inputs, size_t outputs)
{
    return test_linear(engines[0], inputs, outputs, true, &random_state);
}

static struct fovea_mha_weights attention_weights(void)
{
    const struct fovea_linear q = linear(WIDTH, HEADS * D), k = linear(WIDTH, HEADS * D), v = linear(WIDTH, HEADS * DV);
    return (struct fovea_mha_weights){.q = q, .k = k, .v = v, .o = linear(HEADS * DV, WIDTH)};
}

// ---- The same from operators ----------------------------------------------------------------------------------------

static float *product(const struct fovea_linear *l, const float *x, size_t rows, size_t inputs, size_t outputs,
                      enum fovea_activation activation)
{
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.b_packed = 1;
    d.m = rows, d.k = d.lda = inputs, d.n = d.ldc = outputs;
    d.activation = activation;
    float *const y = test_floats(rows * outputs, TEST_HIGH);
    const struct fovea_gemm_args a = {.a = x, .b = l->weight, .c = y, .bias = l->bias, .m = rows};
    CHECK(!fovea_gemm_once(engines[0], &d, &a), "product");
    return y;
}

static float *dropped(const float *x, const float *residual, size_t rows, size_t cols, float p, uint32_t site)
{
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.op = residual ? FOVEA_ROWWISE_DROPOUT_ADD : FOVEA_ROWWISE_DROPOUT;
    d.rows = rows, d.cols = d.ldx = d.ldx2 = d.ldy = cols;
    d.dropout = p;
    float *const y = test_floats(rows * cols, TEST_HIGH);
    const struct fovea_rowwise_args a = {
        .x = x, .x2 = residual, .y = y, .rows = rows, .seed = seed_of_run, .site = site};
    CHECK(!fovea_rowwise_once(engines[0], &d, &a), "dropout");
    return y;
}

static float *normed(const struct fovea_norm *norm, const float *x, size_t rows)
{
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.op = FOVEA_ROWWISE_LAYERNORM;
    d.rows = rows, d.cols = d.ldx = d.ldx2 = d.ldy = WIDTH;
    float *const y = test_floats(rows * WIDTH, TEST_HIGH);
    const struct fovea_rowwise_args a = {.x = x, .gamma = norm->gamma, .beta = norm->beta, .y = y, .rows = rows};
    CHECK(!fovea_rowwise_once(engines[0], &d, &a), "norm");
    return y;
}

// residual + dropout(W_o dropout(attention)) of `len` queries and `keys` keys.
static float *attended(const struct fovea_mha_weights *w, const float *x, size_t len, const float *memory, size_t keys,
                       bool causal, const float *residual, float p, float out_p, uint32_t site)
{
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.causal = causal;
    d.batch = B, d.heads = d.kv_heads = HEADS, d.q_len = len, d.kv_len = keys, d.qk_dim = D, d.v_dim = DV;
    d.q = (struct fovea_strides){len * HEADS * D, D, HEADS * D};
    d.k = (struct fovea_strides){keys * HEADS * D, D, HEADS * D};
    d.v = (struct fovea_strides){keys * HEADS * DV, DV, HEADS * DV};
    d.out = (struct fovea_strides){len * HEADS * DV, DV, HEADS * DV};
    d.dropout = p;
    float *const o = test_floats(B * len * HEADS * DV, TEST_HIGH);
    const struct fovea_attention_args a = {
        .q = product(&w->q, x, B * len, WIDTH, HEADS * D, FOVEA_ACTIVATION_NONE),
        .k = product(&w->k, memory, B * keys, WIDTH, HEADS * D, FOVEA_ACTIVATION_NONE),
        .v = product(&w->v, memory, B * keys, WIDTH, HEADS * DV, FOVEA_ACTIVATION_NONE),
        .out = o,
        .batch = B,
        .q_len = len,
        .kv_len = keys,
        .seed = seed_of_run + site};
    CHECK(!fovea_attention_once(engines[0], &d, &a), "attention");
    const float *const y = product(&w->o, o, B * len, HEADS * DV, WIDTH, FOVEA_ACTIVATION_NONE);
    return dropped(y, residual, B * len, WIDTH, out_p, site);
}

// What a part gives is normed, then dropped and added.
static float *sandwich_from_operators(const struct fovea_layer_desc *d, const struct fovea_layer_weights *w,
                                      const float *x, const float *memory)
{
    const size_t rows = B * LEN;
    const float p = d->dropout;
    const float *in = normed(&w->norm1, x, rows);
    const float *given = attended(&w->self_attention, in, LEN, in, LEN, d->decoder, NULL, p, 0, SITE);
    const float *y = dropped(normed(&w->norm1_out, given, rows), x, rows, WIDTH, p, SITE);
    if (d->decoder) {
        in = normed(&w->norm2, y, rows);
        given = attended(&w->cross_attention, in, LEN, memory, MEMORY, false, NULL, p, 0, SITE + 1);
        y = dropped(normed(&w->norm2_out, given, rows), y, rows, WIDTH, p, SITE + 1);
    }
    const float *const up = product(&w->up, normed(&w->norm3, y, rows), rows, WIDTH, FFN, d->activation);
    const float *const h = dropped(up, NULL, rows, FFN, p, SITE + 2);
    given = product(&w->down, h, rows, FFN, WIDTH, FOVEA_ACTIVATION_NONE);
    return dropped(normed(&w->norm3_out, given, rows), y, rows, WIDTH, p, SITE + 3);
}

static float *layer_from_operators(const struct fovea_layer_desc *d, const struct fovea_layer_weights *w,
                                   const float *x, const float *memory)
{
    const size_t rows = B * LEN;
    const bool pre = d->norm == FOVEA_NORM_PRE;
    const float p = d->dropout;
    if (d->norm == FOVEA_NORM_SANDWICH)
        return sandwich_from_operators(d, w, x, memory);
    const float *in = pre ? normed(&w->norm1, x, rows) : x;
    const float *y = attended(&w->self_attention, in, LEN, in, LEN, d->decoder, x, p, p, SITE);
    y = pre ? y : normed(&w->norm1, y, rows);
    if (d->decoder) {
        in = pre ? normed(&w->norm2, y, rows) : y;
        y = attended(&w->cross_attention, in, LEN, memory, MEMORY, false, y, p, p, SITE + 1);
        y = pre ? y : normed(&w->norm2, y, rows);
    }
    in = pre ? normed(&w->norm3, y, rows) : y;
    const float *const up = product(&w->up, in, rows, WIDTH, FFN, d->activation);
    const float *const h = dropped(up, NULL, rows, FFN, p, SITE + 2);
    float *const out =
        dropped(product(&w->down, h, rows, FFN, WIDTH, FOVEA_ACTIVATION_NONE), y, rows, WIDTH, p, SITE + 3);
    return pre ? out : normed(&w->norm3, out, rows);
}

// ---- Against nn/ ----------------------------------------------------------------------------------------------------

static void test_mha_dropout(bool residual)
{
    struct fovea_mha_desc d;
    fovea_mha_desc_init(&d, sizeof d);
    d.batch = B, d.heads = HEADS, d.q_len = LEN, d.kv_len = MEMORY, d.qk_dim = D, d.v_dim = DV;
    d.query_width = d.key_width = d.value_width = d.out_width = WIDTH;
    d.residual = residual;
    const struct fovea_mha_weights w = attention_weights();
    const float *const x = some(B * LEN * WIDTH, 1), *const memory = some(B * MEMORY * WIDTH, 1);
    const size_t n = B * LEN * WIDTH;
    struct fovea_mha_args a = {.weights = &w,
                               .query = x,
                               .key = memory,
                               .value = memory,
                               .residual = residual ? x : NULL,
                               .batch = B,
                               .q_len = LEN,
                               .kv_len = MEMORY,
                               .seed = seed_of_run,
                               .site = SITE};
    a.out = test_floats(n, TEST_HIGH);
    CHECK(!test_run(&test_mha, engines[0], &d, &a, TEST_SERIAL, 1), "without dropout");
    const float *const plain = a.out;
    const float *const trained = attended(&w, x, LEN, memory, MEMORY, false, residual ? x : NULL, 0.25f, 0.5f, SITE);
    d.dropout = 0.25f;
    d.out_dropout = 0.5f;
    for (int e = 0; e < TEST_ISAS; e++)
        for (int eval = 0; eval <= 1 && engines[e]; eval++) {
            a.eval = (uint32_t)eval;
            a.out = test_floats(n, TEST_HIGH);
            CHECK(!test_run(&test_mha, engines[e], &d, &a, (enum test_way)(e % TEST_WAYS), 3), "mha");
            CHECK_SAME(eval ? plain : trained, a.out, n, "mha, eval %d, %s", eval, test_isas[e]);
        }
    d.out_dropout = 1;
    CHECK(test_run(&test_mha, engines[0], &d, &a, TEST_SERIAL, 1) == FOVEA_ERR_VALUE, "p = 1");
    d.out_dropout = 0;
    d.dropout = -1;
    CHECK(test_run(&test_mha, engines[0], &d, &a, TEST_SERIAL, 1) == FOVEA_ERR_VALUE, "p = -1");
}

static void test_layer_dropout(enum fovea_norm_place place, bool decoder)
{
    struct fovea_layer_desc d;
    fovea_layer_desc_init(&d, sizeof d);
    d.decoder = decoder;
    d.norm = place;
    d.activation = FOVEA_ACTIVATION_RELU;
    d.batch = B, d.len = LEN, d.memory_len = decoder ? MEMORY : 0;
    d.width = WIDTH, d.heads = HEADS, d.qk_dim = D, d.v_dim = DV, d.ffn = FFN;
    const struct fovea_norm norm = {some(WIDTH, 1), some(WIDTH, 1)};
    struct fovea_layer_weights w = {.self_attention = attention_weights(),
                                    .cross_attention = attention_weights(),
                                    .norm1 = norm,
                                    .norm2 = decoder ? norm : (struct fovea_norm){NULL, NULL},
                                    .norm3 = norm,
                                    .up = linear(WIDTH, FFN),
                                    .down = linear(FFN, WIDTH)};
    if (place == FOVEA_NORM_SANDWICH) {
        w.norm1_out = (struct fovea_norm){some(WIDTH, 1), some(WIDTH, 1)};
        w.norm2_out = decoder ? norm : w.norm2_out;
        w.norm3_out = (struct fovea_norm){some(WIDTH, 1), NULL};
    }
    const float *const x = some(B * LEN * WIDTH, 1), *const memory = some(B * MEMORY * WIDTH, 1);
    const size_t n = B * LEN * WIDTH;
    struct fovea_layer_args a = {.weights = &w,
                                 .x = x,
                                 .memory = decoder ? memory : NULL,
                                 .batch = B,
                                 .len = LEN,
                                 .memory_len = d.memory_len,
                                 .beams = 1,
                                 .seed = seed_of_run,
                                 .site = SITE};
    a.y = test_floats(n, TEST_HIGH);
    CHECK(!test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1), "without dropout");
    const float *const plain = a.y;
    d.dropout = 0.3f;
    const float *const trained = layer_from_operators(&d, &w, x, memory);
    for (int e = 0; e < TEST_ISAS; e++)
        for (int eval = 0; eval <= 1 && engines[e]; eval++) {
            a.eval = (uint32_t)eval;
            a.y = test_floats(n, TEST_HIGH);
            CHECK(!test_run(&test_layer, engines[e], &d, &a, (enum test_way)(e % TEST_WAYS), 5), "layer");
            CHECK_SAME(eval ? plain : trained, a.y, n, "layer, eval %d, %s", eval, test_isas[e]);
        }
    a.eval = 0;
    a.site += 4;
    a.y = test_floats(n, TEST_HIGH);
    CHECK(!test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1), "layer");
    CHECK(test_differ(trained, a.y, n) < n, "another layer drops the same");
    d.dropout = NAN;
    CHECK(test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1) == FOVEA_ERR_VALUE, "p is NaN");
}

int main(void)
{
    test_engines(engines);
    for (int i = 0; i < 2; i++) {
        test_mha_dropout(i);
        test_layer_dropout(FOVEA_NORM_PRE, i);
        test_layer_dropout(FOVEA_NORM_POST, i);
        test_layer_dropout(FOVEA_NORM_SANDWICH, i);
        test_memory_reset();
    }
    test_engines_free(engines);
    return test_done();
}
