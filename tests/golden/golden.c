// SPDX-License-Identifier: Apache-2.0
// tests/golden/golden.c - fovea gives what PyTorch gives: rows, attention, multi-head attention, encoder and decoder
// layers, on every ISA of this machine.
//
// golden.safetensors is made by make.py in float64, so what differs is fovea's own rounding. Tolerances are absolute
// plus relative: 1e-6 for one operator (some 20 roundings of numbers about 1), 5e-6 for attention with its projections
// and for layers (a chain of six of them, through a norm that divides by a deviation below 1).
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <stdbool.h>

static const double OPERATOR = 1e-6, LAYER = 5e-6;

static struct fovea_safetensors *file;
static const struct fovea_engine *engine;
static const char *isa;
static double largest[2]; // errors found: of operators, of layers

static const struct fovea_tensor *tensor(const char *name)
{
    const struct fovea_tensor *const t = fovea_safetensors_find(file, name);
    if (!t) {
        fprintf(stderr, "FAIL golden.safetensors has no \"%s\"\n", name);
        exit(1);
    }
    return t;
}

static const float *floats(const char *name)
{
    return tensor(name)->data;
}

static const float *part(const char *prefix, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    const struct fovea_tensor *const t = fovea_safetensors_find(file, full);
    return t ? t->data : NULL;
}

static void compare(const char *name, enum fovea_status status, const float *got, double tolerance)
{
    const struct fovea_tensor *const t = tensor(name);
    const float *const want = t->data;
    const size_t n = t->bytes / sizeof *want;
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        const double error = fabs((double)got[i] - (double)want[i]) / (1 + fabs((double)want[i]));
        worst = error <= worst ? worst : error; // a NaN is taken
    }
    CHECK(status == FOVEA_OK && worst <= tolerance, "%s, %s: %s, off by %g, tolerance %g", name, isa,
          fovea_status_string(status), worst, tolerance);
    double *const max = &largest[tolerance == LAYER];
    *max = worst > *max ? worst : *max;
}

static void row_case(enum fovea_rowwise_op op, const char *in, const char *gamma, const char *beta, const char *out)
{
    const struct fovea_tensor *const x = tensor(in);
    struct fovea_rowwise_desc d = FOVEA_ROWWISE_DESC_INIT;
    d.op = op;
    d.rows = x->shape[0];
    d.cols = d.ldx = d.ldy = x->shape[1];
    float *const y = test_alloc(x->bytes);
    const struct fovea_rowwise_args args = {.x = x->data,
                                            .gamma = gamma ? floats(gamma) : NULL,
                                            .beta = beta ? floats(beta) : NULL,
                                            .y = y,
                                            .rows = d.rows};
    compare(out, fovea_rowwise_once(engine, &d, &args), y, OPERATOR);
    free(y);
}

static void test_rows(void)
{
    row_case(FOVEA_ROWWISE_LAYERNORM, "layernorm.x", "layernorm.gamma", "layernorm.beta", "layernorm.y");
    row_case(FOVEA_ROWWISE_LAYERNORM, "layernorm.x", NULL, NULL, "layernorm.plain");
    row_case(FOVEA_ROWWISE_GELU, "gelu.x", NULL, NULL, "gelu.erf");
    row_case(FOVEA_ROWWISE_GELU_TANH, "gelu.x", NULL, NULL, "gelu.tanh");
    row_case(FOVEA_ROWWISE_SOFTMAX, "softmax.x", NULL, NULL, "softmax.y");
    row_case(FOVEA_ROWWISE_LOG_SOFTMAX, "softmax.x", NULL, NULL, "softmax.log");
}

static struct fovea_strides dense(const struct fovea_tensor *t)
{
    return (struct fovea_strides){t->shape[1] * t->shape[2] * t->shape[3], t->shape[2] * t->shape[3], t->shape[3]};
}

static void test_attention(void)
{
    const struct fovea_tensor *const q = tensor("attention.q"), *const k = tensor("attention.k"),
                                     *const v = tensor("attention.v"), *const y = tensor("attention.full");
    struct fovea_attention_desc d;
    fovea_attention_desc_init(&d, sizeof d);
    d.batch = q->shape[0], d.heads = d.kv_heads = q->shape[1], d.q_len = q->shape[2], d.kv_len = k->shape[2];
    d.qk_dim = q->shape[3], d.v_dim = v->shape[3];
    d.q = dense(q), d.k = dense(k), d.v = dense(v), d.out = dense(y);
    float *const out = test_alloc(y->bytes);
    const struct fovea_attention_args args = {.q = q->data,
                                              .k = k->data,
                                              .v = v->data,
                                              .out = out,
                                              .batch = d.batch,
                                              .q_len = d.q_len,
                                              .kv_len = d.kv_len,
                                              .mask = tensor("attention.mask")->data,
                                              .bias = floats("attention.bias")};
    compare("attention.full", fovea_attention_once(engine, &d, &args), out, OPERATOR);
    d.causal = 1; // PyTorch's is top-left
    compare("attention.causal", fovea_attention_once(engine, &d, &args), out, OPERATOR);
    d.causal = 0;
    d.mask = 1, d.mask_key = 1;
    d.mask_row = d.kv_len, d.mask_head = d.q_len * d.kv_len, d.mask_batch = d.heads * d.mask_head;
    compare("attention.masked", fovea_attention_once(engine, &d, &args), out, OPERATOR);
    d.mask = 0;
    d.bias = 1, d.bias_key = 1;
    d.bias_row = d.kv_len;
    compare("attention.biased", fovea_attention_once(engine, &d, &args), out, OPERATOR);
    free(out);
}

// The packed weight and the bias (NULL where the file has none) of one Linear.
static struct fovea_linear linear(const char *prefix, const char *name)
{
    char full[96];
    size_t bytes = 0;
    snprintf(full, sizeof full, "%s.%s.weight", prefix, name);
    const struct fovea_tensor *const w = tensor(full);
    const size_t outputs = w->shape[0], inputs = w->shape[1];
    CHECK(!fovea_pack_size(inputs, outputs, &bytes), "%s", full);
    void *const blob = test_alloc(bytes);
    CHECK(!fovea_pack(engine, FOVEA_TRANS, inputs, outputs, w->data, inputs, blob, bytes), "%s", full);
    snprintf(full, sizeof full, "%s.bias", name);
    return (struct fovea_linear){blob, part(prefix, full)};
}

static struct fovea_mha_weights projections(const char *prefix)
{
    return (struct fovea_mha_weights){linear(prefix, "q"), linear(prefix, "k"), linear(prefix, "v"),
                                      linear(prefix, "o")};
}

static void free_projections(const struct fovea_mha_weights *w)
{
    free((void *)(uintptr_t)w->q.weight);
    free((void *)(uintptr_t)w->k.weight);
    free((void *)(uintptr_t)w->v.weight);
    free((void *)(uintptr_t)w->o.weight);
}

static void mha_case(const char *prefix, const char *which, const struct fovea_tensor *key,
                     const struct fovea_tensor *value, const void *mask, uint32_t causal)
{
    const struct fovea_tensor *const query = tensor("mha.query");
    const struct fovea_mha_weights weights = projections(prefix);
    struct fovea_mha_desc d;
    char name[96];
    fovea_mha_desc_init(&d, sizeof d);
    d.batch = query->shape[0], d.heads = 3, d.q_len = query->shape[1], d.kv_len = key->shape[1];
    d.query_width = d.out_width = query->shape[2], d.key_width = key->shape[2], d.value_width = value->shape[2];
    d.qk_dim = d.v_dim = d.query_width / d.heads;
    d.causal = causal;
    d.mask = mask != NULL;
    d.mask_key = 1, d.mask_row = d.kv_len, d.mask_batch = d.q_len * d.kv_len;
    float *const out = test_alloc(query->bytes);
    const struct fovea_mha_args args = {.weights = &weights,
                                        .query = query->data,
                                        .key = key->data,
                                        .value = value->data,
                                        .out = out,
                                        .batch = d.batch,
                                        .q_len = d.q_len,
                                        .kv_len = d.kv_len,
                                        .mask = mask};
    snprintf(name, sizeof name, "%s.%s", prefix, which);
    compare(name, fovea_mha_once(engine, &d, &args), out, LAYER);
    free(out);
    free_projections(&weights);
}

static void test_mha(void)
{
    const struct fovea_tensor *const query = tensor("mha.query"), *const key = tensor("mha.key"),
                                     *const value = tensor("mha.value"), *const mask = tensor("mha.mask");
    mha_case("mha.bias", "full", key, value, NULL, 0);
    mha_case("mha.bias", "masked", key, value, mask->data, 0);
    mha_case("mha.plain", "full", key, value, NULL, 0);
    mha_case("mha.plain", "masked", key, value, mask->data, 0);
    mha_case("mha.self", "causal", query, query, NULL, 1);
}

static struct fovea_layer_weights layer_weights(const char *prefix, bool decoder)
{
    char self[64], cross[64];
    snprintf(self, sizeof self, "%s.self_attention", prefix);
    snprintf(cross, sizeof cross, "%s.cross_attention", prefix);
    struct fovea_layer_weights w = {.self_attention = projections(self),
                                    .norm1 = {part(prefix, "norm1.weight"), part(prefix, "norm1.bias")},
                                    .norm3 = {part(prefix, "norm3.weight"), part(prefix, "norm3.bias")},
                                    .up = linear(prefix, "up"),
                                    .down = linear(prefix, "down")};
    if (decoder) {
        w.cross_attention = projections(cross);
        w.norm2 = (struct fovea_norm){part(prefix, "norm2.weight"), part(prefix, "norm2.bias")};
    }
    return w;
}

static enum fovea_status run_layer(const struct fovea_layer_desc *d, const struct fovea_layer_args *args)
{
    struct fovea_work *const plan = test_alloc(fovea_layer_plan_size());
    enum fovea_status status = fovea_layer_plan(engine, d, plan);
    if (status == FOVEA_OK) {
        void *const shared = test_alloc(plan->shared_bytes), *const scratch = test_alloc(plan->scratch_bytes);
        status = fovea_layer(plan, args, shared, scratch, NULL);
        free(shared);
        free(scratch);
    }
    free(plan);
    return status;
}

// All four combinations of norm and activation with one set of weights. Lengths are those of make.py; lens NULL: whole.
static void layer_cases(const char *prefix, const char *infix, bool decoder, const uint32_t *lens)
{
    static const char *const names[2][2] = {{"post_relu", "post_gelu"}, {"pre_relu", "pre_gelu"}};
    const struct fovea_tensor *const x = tensor("layer.x"), *const memory = tensor("layer.memory");
    const struct fovea_layer_weights weights = layer_weights(prefix, decoder);
    struct fovea_layer_desc d;
    fovea_layer_desc_init(&d, sizeof d);
    d.decoder = decoder;
    d.batch = x->shape[0], d.len = x->shape[1], d.width = x->shape[2], d.memory_len = memory->shape[1];
    d.heads = 3, d.qk_dim = d.v_dim = d.width / d.heads, d.ffn = 40;
    float *const y = test_alloc(x->bytes);
    const struct fovea_layer_args args = {.weights = &weights,
                                          .x = x->data,
                                          .y = y,
                                          .memory = memory->data,
                                          .batch = d.batch,
                                          .len = d.len,
                                          .memory_len = d.memory_len,
                                          .beams = 1,
                                          .lens = decoder ? NULL : lens,
                                          .memory_lens = decoder ? lens : NULL};
    for (int pre = 0; pre < 2; pre++)
        for (int gelu = 0; gelu < 2; gelu++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s.%s", prefix, infix, names[pre][gelu]);
            d.norm = pre ? FOVEA_NORM_PRE : FOVEA_NORM_POST;
            d.activation = gelu ? FOVEA_ACTIVATION_GELU : FOVEA_ACTIVATION_RELU;
            compare(name, run_layer(&d, &args), y, LAYER);
        }
    free(y);
    free_projections(&weights.self_attention);
    if (decoder)
        free_projections(&weights.cross_attention);
    free((void *)(uintptr_t)weights.up.weight);
    free((void *)(uintptr_t)weights.down.weight);
}

static void test_layers(void)
{
    static const uint32_t encoder_lens[2] = {9, 4}, memory_lens[2] = {11, 7};
    layer_cases("encoder", "", false, encoder_lens);
    layer_cases("encoder", ".whole", false, NULL);
    layer_cases("decoder", "", true, memory_lens);
    layer_cases("decoder", ".whole", true, NULL);
}

int main(void)
{
    char message[200] = "";
    CHECK(!fovea_safetensors_open(GOLDEN_FILE, &file, message, sizeof message), "%s", message);
    if (!file)
        return test_done();
    for (int i = 0; i < TEST_ISAS; i++) {
        struct fovea_engine *const made = test_engine(test_isas[i], NULL);
        if (!made) {
            printf("skip %s: this CPU or build lacks it\n", test_isas[i]);
            continue;
        }
        engine = made;
        isa = test_isas[i];
        test_rows();
        test_attention();
        test_mha();
        test_layers();
        fovea_engine_destroy(made);
    }
    printf("largest error: %.2g in an operator, %.2g in a layer\n", largest[0], largest[1]);
    fovea_safetensors_close(file);
    return test_done();
}
