// SPDX-License-Identifier: Apache-2.0
// tests/golden/operators.c - what PyTorch gives for norms, GELU, SiLU, softmax, gated products, attention and MHA.
#include "tests/golden/golden.h"

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
    compare(out, "", fovea_rowwise_once(engine, &d, &args), y, OPERATOR);
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
    row_case(FOVEA_ROWWISE_SILU, "silu.x", NULL, NULL, "silu.y");
    row_case(FOVEA_ROWWISE_RMSNORM, "rmsnorm.x", "rmsnorm.gamma", NULL, "rmsnorm.y");
    row_case(FOVEA_ROWWISE_RMSNORM, "rmsnorm.x", NULL, NULL, "rmsnorm.plain");
}

// SwiGLU and GEGLU as one GEMM: the rows of the two weights in turn.
static void gated_case(enum fovea_activation activation, const char *out)
{
    enum { HALVES = 2 };
    static const char *const half[HALVES] = {"glu.gate", "glu.value"};
    const struct fovea_tensor *const x = tensor("glu.x"), *const y = tensor(out);
    struct fovea_gemm_desc d = FOVEA_GEMM_DESC_INIT;
    d.m = x->shape[0], d.k = d.lda = d.ldb = x->shape[1];
    d.ldc = y->shape[1], d.n = HALVES * d.ldc;
    d.trans_b = FOVEA_TRANS;
    d.activation = activation;
    d.gated = 1;
    float *const b = test_alloc(d.n * d.k * sizeof *b), *const bias = test_alloc(d.n * sizeof *bias),
                 *const c = test_alloc(y->bytes);
    for (size_t j = 0; j < d.n; j++) {
        memcpy(b + j * d.k, part(half[j % HALVES], "weight") + j / HALVES * d.k, d.k * sizeof *b);
        bias[j] = part(half[j % HALVES], "bias")[j / HALVES];
    }
    const struct fovea_gemm_args args = {.a = x->data, .b = b, .c = c, .bias = bias, .m = d.m};
    compare(out, "", fovea_gemm_once(engine, &d, &args), c, OPERATOR);
    free(b);
    free(bias);
    free(c);
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
    struct fovea_attention_args args = {
        .q = q->data, .k = k->data, .v = v->data, .out = out, .batch = d.batch, .q_len = d.q_len, .kv_len = d.kv_len};
    compare("attention.full", "", fovea_attention_once(engine, &d, &args), out, OPERATOR);
    d.causal = 1; // PyTorch's is top-left
    compare("attention.causal", "", fovea_attention_once(engine, &d, &args), out, OPERATOR);
    d.causal = 0;
    args.mask = tensor("attention.mask")->data;
    d.mask = 1, d.mask_key = 1;
    d.mask_row = d.kv_len, d.mask_head = d.q_len * d.kv_len, d.mask_batch = d.heads * d.mask_head;
    compare("attention.masked", "", fovea_attention_once(engine, &d, &args), out, OPERATOR);
    args.mask = NULL;
    d.mask = 0;
    args.bias = floats("attention.bias");
    d.bias = 1, d.bias_key = 1;
    d.bias_row = d.kv_len;
    compare("attention.biased", "", fovea_attention_once(engine, &d, &args), out, OPERATOR);
    free(out);
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
    compare(name, "", fovea_mha_once(engine, &d, &args), out, LAYER);
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

static void test_all(void)
{
    test_rows();
    gated_case(FOVEA_ACTIVATION_SILU, "glu.silu");
    gated_case(FOVEA_ACTIVATION_GELU, "glu.gelu");
    test_attention();
    test_mha();
}

int main(void)
{
    return golden_main(test_all);
}
