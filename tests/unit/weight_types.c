// SPDX-License-Identifier: Apache-2.0
// tests/unit/weight_types.c - multi-head attention and layers whose weights have elements of 16 or 8 bits: the bits of
// the same layer whose weights are the same numbers as f32, for few rows and many, on every ISA.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/pack.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

enum { WIDTH = 40, HEADS = 4, KV_HEADS = 2, D = 12, FFN = 50, MOST = 37 };

static uint64_t rng = 5;

/// A Linear with small elements, and the same as f32.
struct both {
    struct fovea_linear small, wide;
};

static struct both draw(const struct fovea_engine *engine, enum fovea_type type, size_t inputs, size_t outputs)
{
    float *const weight = test_some(inputs * outputs, 0.3f, &rng);
    const float *const bias = test_some(outputs, 1, &rng);
    size_t bytes = 0;
    CHECK(!fovea_pack_size_typed(type, inputs, outputs, &bytes), "size");
    void *const blob = test_memory(bytes, TEST_HIGH);
    test_pack_as(engine, type, FOVEA_TRANS, inputs, outputs, weight, blob, bytes);
    return (struct both){{blob, bias}, {test_packed(engine, weight, inputs, outputs), bias}};
}

struct layers {
    struct fovea_layer_desc desc;
    struct fovea_layer_weights small, wide;
};

static struct layers draw_layer(const struct fovea_engine *engine, enum fovea_type type)
{
    struct layers l = {.small = {.up = {NULL, NULL}}};
    fovea_layer_desc_init(&l.desc, sizeof l.desc);
    l.desc.causal = l.desc.gated = 1;
    l.desc.norm = FOVEA_NORM_PRE, l.desc.norm_kind = FOVEA_NORM_RMS, l.desc.activation = FOVEA_ACTIVATION_SILU;
    l.desc.batch = 1, l.desc.len = MOST, l.desc.width = WIDTH, l.desc.ffn = FFN;
    l.desc.heads = HEADS, l.desc.kv_heads = KV_HEADS, l.desc.qk_dim = l.desc.v_dim = D;
    const struct both q = draw(engine, type, WIDTH, HEADS * D), k = draw(engine, type, WIDTH, KV_HEADS * D),
                      v = draw(engine, type, WIDTH, KV_HEADS * D), o = draw(engine, type, HEADS * D, WIDTH),
                      up = draw(engine, type, WIDTH, 2 * FFN), down = draw(engine, type, FFN, WIDTH);
    const struct fovea_norm norm = {test_some(WIDTH, 1, &rng), NULL};
    l.small = (struct fovea_layer_weights){
        .self_attention = {.q = q.small, .k = k.small, .v = v.small, .o = o.small}, .norm1 = norm, .norm3 = norm};
    l.wide = (struct fovea_layer_weights){
        .self_attention = {.q = q.wide, .k = k.wide, .v = v.wide, .o = o.wide}, .norm1 = norm, .norm3 = norm};
    l.small.up = up.small, l.small.down = down.small;
    l.wide.up = up.wide, l.wide.down = down.wide;
    return l;
}

static void test_layer_of(const struct fovea_engine *engine, const char *isa, enum fovea_type type, size_t len)
{
    struct layers l = draw_layer(engine, type);
    const float *const x = test_some(len * WIDTH, 1, &rng);
    float *const want = test_floats(len * WIDTH, TEST_HIGH), *const got = test_floats(len * WIDTH, TEST_HIGH);
    struct fovea_layer_args args = {.weights = &l.wide, .x = x, .y = want, .batch = 1, .len = len};
    CHECK(!test_run(&test_layer, engine, &l.desc, &args, TEST_SERIAL, 1), "%s: f32", isa);
    l.desc.weight_type = type;
    args.weights = &l.small;
    args.y = got;
    for (int way = 0; way < TEST_WAYS; way++) {
        memset(got, 0xff, len * WIDTH * sizeof *got);
        CHECK(!test_run(&test_layer, engine, &l.desc, &args, (enum test_way)way, len), "%s: type %d", isa, (int)type);
        const size_t at = test_differ(want, got, len * WIDTH);
        CHECK(at == len * WIDTH, "%s %s, type %d, %zu rows: y[%zu]", isa, test_way_names[way], (int)type, len, at);
    }
    test_memory_reset();
}

/// Weights of another type than the plan's, and types that do not exist, are refused.
static void test_refused(const struct fovea_engine *engine)
{
    struct layers l = draw_layer(engine, FOVEA_BF16);
    struct fovea_layer_desc *const d = &l.desc;
    struct fovea_mha_desc mha;
    char text[FOVEA_EXPLAIN_BYTES] = "";
    void *const plan = test_memory(fovea_layer_plan_size(), TEST_HIGH);
    float y[WIDTH];
    const float x[WIDTH] = {0};
    const struct fovea_layer_args args = {.weights = &l.small, .x = x, .y = y, .batch = 1, .len = 1};
    for (int type = FOVEA_F32; type <= FOVEA_S8; type++) {
        static const char *const says[] = {"layer: self_attention: the weight of q is a blob of bf16 elements, not f32",
                                           NULL,
                                           "layer: self_attention: the weight of q is a blob of bf16 elements, not f16",
                                           "layer: self_attention: the weight of q is a blob of bf16 elements, not s8"};
        d->weight_type = (enum fovea_type)type;
        CHECK(!fovea_layer_plan(engine, d, plan), "type %d", type);
        const enum fovea_status status = fovea_explain_layer_call(plan, &args, text, sizeof text);
        CHECK(type == FOVEA_BF16 ? !status : status == FOVEA_ERR_FORMAT && !strcmp(text, says[type]), "%s", text);
    }
    d->weight_type = (enum fovea_type)(FOVEA_S8 + 1);
    CHECK(fovea_explain_layer(engine, d, text, sizeof text) == FOVEA_ERR_ENUM &&
              !strcmp(text, "layer: weight_type is 4, not within 0 to 3"),
          "%s", text);
    CHECK(!fovea_mha_desc_init(&mha, sizeof mha), "mha");
    mha.weight_type = (enum fovea_type)(-1);
    CHECK(fovea_explain_mha(engine, &mha, text, sizeof text) == FOVEA_ERR_ENUM && strstr(text, "mha: weight_type is "),
          "%s", text);
    test_memory_reset();
}

int main(void)
{
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const engine = test_engine(test_isas[i], NULL);
        if (engine == NULL)
            continue;
        for (int type = FOVEA_BF16; type <= FOVEA_S8; type++)
            for (size_t len = 1; len <= MOST; len += 6)
                test_layer_of(engine, test_isas[i], (enum fovea_type)type, len);
        test_refused(engine);
        fovea_engine_destroy(engine);
    }
    return test_done();
}
