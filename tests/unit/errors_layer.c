// SPDX-License-Identifier: Apache-2.0
// tests/unit/errors_layer.c - bad input for layers: each descriptor and each call differs from a good one in one thing.
#include "tests/unit/refuse_nn.h"

static struct fovea_layer_desc layer_desc(void)
{
    struct fovea_layer_desc d;
    CHECK(!fovea_layer_desc_init(&d, sizeof d), "init");
    d.decoder = d.cached = 1;
    d.batch = d.beams = B, d.len = L, d.memory_len = d.kv_len = CAPACITY;
    d.width = W, d.heads = H, d.qk_dim = D, d.v_dim = DV, d.ffn = FFN;
    return d;
}

static void test_layer_descs(const struct refuse *refused, struct fovea_layer_desc good)
{
    const struct refuse r = *refused;
    struct fovea_layer_desc bad;
    const size_t huge = SIZE_MAX / 4;
    BAD_DESC(bad.struct_size = 0, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.struct_size -= 8, FOVEA_ERR_STRUCT);
    BAD_DESC(bad.decoder = 2, FOVEA_ERR_ENUM);
    BAD_DESC(bad.cached = 2, FOVEA_ERR_ENUM);
    BAD_DESC_TOLD(bad.norm = (enum fovea_norm_place)3, FOVEA_ERR_ENUM, "layer: norm is 3, not within 0 to 2");
    BAD_DESC(bad.norm = (enum fovea_norm_place)(-1), FOVEA_ERR_ENUM);
    BAD_DESC(bad.norm_kind = (enum fovea_norm_kind)2, FOVEA_ERR_ENUM);
    BAD_DESC(bad.activation = (enum fovea_activation)6, FOVEA_ERR_ENUM);
    BAD_DESC(bad.gated = 2, FOVEA_ERR_ENUM);
    BAD_DESC_TOLD(bad.qk_norm = 2, FOVEA_ERR_ENUM, "layer: qk_norm is 2, neither 0 nor 1");
    BAD_DESC((bad.gated = 1, bad.ffn = SIZE_MAX / 2 + 1), FOVEA_ERR_OVERFLOW);
    BAD_DESC((bad.decoder = 0, bad.memory_len = 0, bad.beams = 1), FOVEA_ERR_VALUE); // with caches
    BAD_DESC_TOLD(bad.beams = 0, FOVEA_ERR_SHAPE, "layer: beams is 0");
    BAD_DESC(bad.beams = 3, FOVEA_ERR_SHAPE);
    BAD_DESC_TOLD(bad.width = 0, FOVEA_ERR_SHAPE, "layer: width is 0");
    BAD_DESC_TOLD(bad.ffn = 0, FOVEA_ERR_SHAPE, "layer: ffn is 0");
    BAD_DESC(bad.heads = 0, FOVEA_ERR_SHAPE);
    BAD_DESC_TOLD(bad.qk_dim = 513, FOVEA_ERR_SHAPE, "layer: qk_dim is 513, not within 1 to 512");
    BAD_DESC_TOLD(bad.kv_len = L - 1, FOVEA_ERR_SHAPE,
                  "layer: len 5 is more than kv_len 4, the capacity of self_cache");
    BAD_DESC_TOLD(bad.eps = -1, FOVEA_ERR_VALUE, "layer: eps is -1, negative or not finite");
    BAD_DESC_TOLD(bad.dropout = 1.5f, FOVEA_ERR_VALUE, "layer: dropout is 1.5, not at least 0 and below 1");
    BAD_DESC_TOLD((bad.rotary_dim = 10, bad.rotary_positions = CAPACITY), FOVEA_ERR_SHAPE,
                  "layer: rotary_dim 10 is odd or more than qk_dim 8");
    BAD_DESC_TOLD((bad.rotary_dim = 4, bad.rotary_positions = CAPACITY - 1), FOVEA_ERR_SHAPE,
                  "layer: rotary_positions is 19, but a call may have 20 positions");
    BAD_DESC_TOLD((bad.cached = 0, bad.rotary_dim = 4, bad.rotary_positions = L - 1), FOVEA_ERR_SHAPE,
                  "layer: rotary_positions is 4, but a call may have 5 positions");
    BAD_DESC_TOLD(bad.window_right = 3, FOVEA_ERR_VALUE, "layer: window_right is 3, but the layer is causal");
    BAD_DESC_TOLD(bad.softcap = -1, FOVEA_ERR_VALUE, "layer: softcap is -1, not above 0 with a finite inverse");
    BAD_DESC_TOLD(bad.softcap = 1e-39f, FOVEA_ERR_VALUE, "layer: softcap is 1e-39, not above 0 with a finite inverse");
    BAD_DESC_TOLD(bad.scale = INFINITY, FOVEA_ERR_VALUE, "layer: scale is not finite");
    BAD_DESC(bad.eps = NAN, FOVEA_ERR_VALUE);
    BAD_DESC(bad.ffn = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.width = huge, FOVEA_ERR_OVERFLOW);
    BAD_DESC(bad.batch = huge - huge % B, FOVEA_ERR_OVERFLOW);
    BAD_DESC_TOLD(bad.memory_len = huge, FOVEA_ERR_OVERFLOW, "layer: memory_len is ");
    BAD_DESC_TOLD((bad.cached = 0, bad.memory_width = huge), FOVEA_ERR_OVERFLOW, "layer: cross_attention: k: gemm: ");
    BAD_DESC_TOLD((bad.memory_len = UINT32_MAX, bad.heads = 1 << 20, bad.qk_dim = 512), FOVEA_ERR_OVERFLOW,
                  "layer: cross_attention: a cache of memory_len 4294967295 does not fit in memory");
    BAD_DESC_TOLD((bad.len = bad.kv_len = UINT32_MAX, bad.rows = 1), FOVEA_ERR_OVERFLOW,
                  "layer: self_attention: batch and len make more tasks than 32 bits count");
    BAD_DESC_TOLD((bad.cached = 0, bad.len = UINT32_MAX, bad.rows = 1), FOVEA_ERR_OVERFLOW,
                  "layer: cross_attention: len 4294967295 x beams 2 overflow");
}

static void test_layer_errors(void)
{
    const struct fovea_layer_desc good = layer_desc();
    const struct fovea_kv_cache self = make_cache(), cross = make_cache();
    const struct fovea_layer_weights weights = {.self_attention = mha_weights(),
                                                .cross_attention = mha_weights(),
                                                .up = {linear(W, FFN), NULL},
                                                .down = {linear(FFN, W), NULL}};
    static const uint32_t memory_lens[1] = {CAPACITY};
    struct fovea_layer_weights bad_weights;
    float *const y = test_floats(B * L * W, TEST_HIGH);
    struct fovea_layer_args wrong;
    const struct fovea_layer_args args = {.weights = &weights,
                                          .x = some(B * L * W),
                                          .y = y,
                                          .batch = B,
                                          .len = L,
                                          .memory_len = CAPACITY,
                                          .beams = B,
                                          .memory_lens = memory_lens,
                                          .self_cache = &self,
                                          .cross_cache = &cross};
    const struct refuse r = refuse_begin(&test_layer, engine, &good, &args, y, B * L * W);
    refuse_common(&r);
    test_layer_descs(&r, good);
    CHECK(!fovea_layer(r.plan, &args, r.shared, r.scratch, NULL), "the good layer");
    char text[FOVEA_EXPLAIN_BYTES] = "";
    static const char line[] = "layer: batch 2, len 5, memory_len 20, position 0, memory_lens";
    CHECK(test_explains(&test_layer, r.plan, &args, line), "%s", line);
    wrong = args, wrong.slopes = wrong.sinks = args.x;
    CHECK(!fovea_explain_layer_call(r.plan, &wrong, text, sizeof text) && strstr(text, ", memory_lens, ALiBi, sinks"),
          "\"%s\"", text);
    wrong = args, wrong.memory_len = 0;
    CHECK(!fovea_explain_layer_call(r.plan, &wrong, text, sizeof text) &&
              strstr(text, ", cross-attention sees no key: args.memory_len is 0"),
          "\"%s\"", text);
    wrong = args;
    wrong.y = test_floats(B * L * W, TEST_HIGH);
    CHECK(!fovea_layer_once(engine, &good, &wrong) && test_differ(y, wrong.y, B * L * W) == B * L * W, "once: bits");
    CHECK(fovea_layer_once(NULL, &good, &args) == FOVEA_ERR_NULL, "once: engine NULL");
    CHECK(fovea_layer_once(engine, NULL, &args) == FOVEA_ERR_NULL, "once: desc NULL");
    CHECK(fovea_layer_once(engine, &good, NULL) == FOVEA_ERR_NULL, "once: args NULL");
    BAD_ARGS_TOLD(wrong.weights = NULL, FOVEA_ERR_NULL, "layer: args.weights is NULL");
    BAD_ARGS_TOLD(wrong.x = NULL, FOVEA_ERR_NULL, "layer: args.x is NULL");
    BAD_ARGS_TOLD(wrong.y = NULL, FOVEA_ERR_NULL, "layer: args.y is NULL");
    BAD_ARGS_TOLD(wrong.self_cache = NULL, FOVEA_ERR_NULL, "layer: args.self_cache is NULL");
    BAD_ARGS_TOLD(wrong.cross_cache = NULL, FOVEA_ERR_NULL, "layer: args.cross_cache is NULL");
    BAD_ARGS(wrong.batch = B + 2, FOVEA_ERR_SHAPE);
    BAD_ARGS_TOLD(wrong.len = L + 1, FOVEA_ERR_SHAPE, "layer: args.len is 6, more than the plan's 5");
    BAD_ARGS_TOLD(wrong.memory_len = CAPACITY + 1, FOVEA_ERR_SHAPE,
                  "layer: args.memory_len is 21, more than the plan's");
    BAD_ARGS(wrong.position = CAPACITY, FOVEA_ERR_SHAPE);
    static const size_t beyond[B] = {3, CAPACITY - L + 1}, near[B] = {3, 0};
    BAD_ARGS_TOLD(
        wrong.positions = beyond, FOVEA_ERR_SHAPE,
        "layer: self_attention: args.positions[1] is 16, and 5 keys from there on are more than the plan's kv_len, ");
    BAD_ARGS_TOLD((wrong.position = 4, wrong.positions = near), FOVEA_ERR_VALUE,
                  "layer: self_attention: args.position is 4, beside args.positions");
    struct fovea_layer_desc dropped = good; // which names rows of one memory by one position
    dropped.dropout = 0.1f;
    wrong = args, wrong.positions = near, wrong.y = test_floats(B * L * W, TEST_HIGH);
    CHECK(test_run(&test_layer, engine, &dropped, &wrong, TEST_SERIAL, 1) == FOVEA_ERR_UNSUPPORTED, "dropout of beams");
    CHECK(refuse_clean(wrong.y, B * L * W * sizeof *wrong.y), "dropout of beams: y was written");
    wrong.eval = 1;
    CHECK(!test_run(&test_layer, engine, &dropped, &wrong, TEST_SERIAL, 1), "no dropout of beams");
    BAD_ARGS_TOLD(wrong.beams = 0, FOVEA_ERR_SHAPE, "layer: args.beams is 0, but a decoder has 1 or more");
    BAD_ARGS_TOLD(wrong.batch = 1, FOVEA_ERR_SHAPE, "layer: args.beams is 2, which does not divide args.batch, 1");
    BAD_ARGS_TOLD(wrong.beams = B + 1, FOVEA_ERR_SHAPE, "layer: args.beams is 3, more than the plan's 2");
    BAD_ARGS_TOLD(wrong.beams = 1, FOVEA_ERR_SHAPE, "layer: args.batch / args.beams is 2, more than the plan's 1");
    BAD_ARGS_TOLD(wrong.lens = memory_lens, FOVEA_ERR_VALUE, "layer: args.lens is given, but the layer is causal");
    BAD_ARGS_TOLD(wrong.memory = args.x, FOVEA_ERR_VALUE, "layer: args.memory is given, but cross_cache has its keys");
    struct fovea_kv_cache shorter = cross;
    shorter.capacity--;
    BAD_ARGS_TOLD(wrong.self_cache = &shorter, FOVEA_ERR_SHAPE,
                  "layer: self_attention: args.self_cache->capacity is 19, not the plan's kv_len, 20");
    BAD_ARGS_TOLD(wrong.cross_cache = &shorter, FOVEA_ERR_SHAPE,
                  "layer: cross_attention: args.cross_cache->capacity is 19, not the plan's memory_len, 20");
    BAD_WEIGHT(bad_weights.up.weight = NULL, FOVEA_ERR_NULL);
    BAD_WEIGHT(bad_weights.down.weight = NULL, FOVEA_ERR_NULL);
    BAD_WEIGHT(bad_weights.down.weight = weights.up.weight, FOVEA_ERR_FORMAT);
    refuse_told(&r, &wrong, "layer: the weight of down is a blob of 24 x 40, not 40 x 24");
    BAD_WEIGHT(bad_weights.up.weight = (const char *)weights.up.weight + 32, FOVEA_ERR_ALIGN);
    BAD_WEIGHT(bad_weights.self_attention.q.weight = NULL, FOVEA_ERR_NULL);
    refuse_told(&r, &wrong, "layer: self_attention: the weight of q is NULL");
    BAD_WEIGHT(bad_weights.cross_attention.o.weight = NULL, FOVEA_ERR_NULL);
    BAD_WEIGHT(bad_weights.norm1_out.gamma = args.x, FOVEA_ERR_VALUE);
    refuse_told(&r, &wrong, "layer: norm1_out is given, but the layer is not sandwich-norm");
    BAD_WEIGHT(bad_weights.norm2_out.gamma = args.x, FOVEA_ERR_VALUE);
    BAD_WEIGHT(bad_weights.norm3_out.beta = args.x, FOVEA_ERR_VALUE);
    refuse_told(&r, &wrong, "layer: norm3_out is given, but the layer is not sandwich-norm");
    BAD_WEIGHT(bad_weights.self_attention.q_norm = args.x, FOVEA_ERR_VALUE);
    refuse_told(&r, &wrong, "layer: self_attention: the weights have q_norm, but the plan has no qk_norm");
    BAD_WEIGHT(bad_weights.cross_attention.k_norm = args.x, FOVEA_ERR_VALUE);
    refuse_told(&r, &wrong, "layer: cross_attention: the weights have k_norm, but only self-attention has qk_norm");
    const struct fovea_layer_args nothing = {.batch = 0}, no_rows = {.batch = B, .beams = B};
    CHECK(!fovea_layer(r.plan, &nothing, r.shared, r.scratch, NULL), "an empty batch needs no pointers");
    CHECK(!fovea_layer(r.plan, &no_rows, r.shared, r.scratch, NULL), "no rows need no pointers");
    test_memory_reset();
}

// What a layer without cross-attention has no use for: it was meant for something else.
static void test_not_asked_for(uint32_t causal)
{
    struct fovea_layer_desc good = layer_desc();
    good.norm = causal ? FOVEA_NORM_SANDWICH : FOVEA_NORM_POST;
    good.decoder = good.cached = 0, good.causal = causal, good.memory_len = 0, good.beams = 1;
    const struct fovea_layer_weights weights = {
        .self_attention = mha_weights(), .up = {linear(W, FFN), NULL}, .down = {linear(FFN, W), NULL}};
    const float *const gamma = some(W);
    struct fovea_layer_weights bad_weights;
    float *const y = test_floats(B * L * W, TEST_HIGH);
    struct fovea_layer_desc bad;
    struct fovea_layer_args wrong;
    const struct fovea_layer_args args = {.weights = &weights, .x = some(B * L * W), .y = y, .batch = B, .len = L};
    const struct refuse r = refuse_begin(&test_layer, engine, &good, &args, y, B * L * W);
    BAD_DESC_TOLD(bad.memory_len = L, FOVEA_ERR_VALUE, "layer: memory_len is 5, but the layer has no cross-attention");
    BAD_DESC_TOLD(bad.memory_width = W, FOVEA_ERR_VALUE, "layer: memory_width is 24, but the layer has no cross-");
    BAD_DESC_TOLD(bad.beams = B, FOVEA_ERR_VALUE, "layer: beams is 2, but the layer has no cross-attention");
    BAD_ARGS_TOLD(wrong.memory_len = L, FOVEA_ERR_VALUE, "layer: args.memory_len is 5, but the layer has no cross-");
    BAD_ARGS_TOLD(wrong.beams = B, FOVEA_ERR_VALUE, "layer: args.beams is 2, but the layer has no cross-attention");
    BAD_WEIGHT(bad_weights.norm2.gamma = gamma, FOVEA_ERR_VALUE);
    refuse_told(&r, &wrong, "layer: norm2 belongs to cross-attention; the norm of the FFN is norm3");
    BAD_WEIGHT(bad_weights.norm2.beta = gamma, FOVEA_ERR_VALUE);
    BAD_WEIGHT(bad_weights.norm2_out.beta = gamma, FOVEA_ERR_VALUE);
    refuse_told(&r, &wrong, "layer: norm2_out belongs to cross-attention; that of the FFN is norm3_out");
    static const uint32_t lens[B] = {L, L};
    const struct fovea_kv_cache cache = make_cache();
    BAD_ARGS_TOLD(wrong.memory = gamma, FOVEA_ERR_VALUE, "layer: args.memory is given, but the layer has no cross-");
    BAD_ARGS_TOLD(wrong.memory_lens = lens, FOVEA_ERR_VALUE, "layer: args.memory_lens is given, but the layer has no ");
    BAD_ARGS_TOLD(wrong.self_cache = &cache, FOVEA_ERR_VALUE, "layer: args.self_cache is given, but the plan is not ");
    BAD_ARGS_TOLD(wrong.cross_cache = &cache, FOVEA_ERR_VALUE, "layer: args.cross_cache is given, but the layer has ");
    BAD_ARGS_TOLD(wrong.rotary_cos = gamma, FOVEA_ERR_VALUE, "layer: args.rotary_cos is given, but the plan has no ");
    BAD_ARGS_TOLD(wrong.rotary_sin = gamma, FOVEA_ERR_VALUE, "layer: args.rotary_sin is given, but the plan has no ");
    static const size_t positions[B] = {0};
    BAD_ARGS_TOLD(wrong.positions = positions, FOVEA_ERR_VALUE, "layer: args.positions is given, but the plan is not ");
    BAD_ARGS_TOLD(wrong.position = 7, FOVEA_ERR_VALUE,
                  "layer: args.position is 7, but the plan is not cached: a call begins at 0");
    BAD_ARGS_TOLD(wrong.eval = 3, FOVEA_ERR_ENUM, "layer: args.eval is 3, neither 0 nor 1");
    if (causal)
        BAD_DESC_TOLD(bad.window_right = 0, FOVEA_ERR_VALUE, "layer: window_right is 0, but the layer is causal");
    if (causal)
        BAD_ARGS_TOLD(wrong.lens = lens, FOVEA_ERR_VALUE, "layer: args.lens is given, but the layer is causal");
    test_memory_reset();
}

int main(void)
{
    engine = test_engine("scalar", NULL);
    test_layer_errors();
    test_not_asked_for(0);
    test_not_asked_for(1);
    fovea_engine_destroy(engine);
    return test_done();
}
