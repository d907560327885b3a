// SPDX-License-Identifier: Apache-2.0
// bench/peer_onnxruntime_layer_graph.c - a whole layer as a graph of ONNX: as it is exported, or of fused operators.
//
// The operators of the domain com.microsoft are those that ONNX Runtime's own optimizer of Transformers puts in their
// place: https://onnxruntime.ai/docs/performance/transformers-optimization.html, docs/ContribOperators.md there. What
// is exported in plain operators is fused by the session itself as far as it knows the patterns.
#include "bench/peer_onnxruntime_layer.h"

#include <math.h>
#include <string.h>

static struct onnx_value flow(const char *name)
{
    return (struct onnx_value){.name = name};
}

static struct onnx_node *put(struct onnxruntime_graph *g, const char *op, const char *domain, const char *out,
                             size_t count, const struct onnx_value *inputs)
{
    struct onnx_node *const node = &g->nodes[g->count++];
    *node = (struct onnx_node){.op = op, .domain = domain, .input_count = count, .output_count = 1};
    for (size_t i = 0; i < count; i++)
        node->inputs[i] = inputs[i];
    node->outputs[0] = flow(out);
    return node;
}

static void put2(struct onnxruntime_graph *g, const char *op, struct onnx_value a, struct onnx_value b, const char *out)
{
    put(g, op, NULL, out, 2, (struct onnx_value[]){a, b});
}

static void attribute(struct onnx_node *node, const char *name, int64_t whole, float real)
{
    node->attributes[node->attribute_count++] = (struct onnx_attribute){.name = name, .whole = whole, .real = real};
}

// Columns of an operand as a constant; a value without a name where this kind of layer has no such operand.
static struct onnx_value columns(const struct onnxruntime_graph *g, enum layer_operand which, const char *name,
                                 size_t first, size_t count)
{
    const struct layer_problem *const p = g->problem;
    const float *const at = layer_problem_operand(p, g->layer, which);
    const bool vector = which >= LAYER_B_QKV;
    struct onnx_value value = {.name = at ? name : NULL, .type = ONNX_FLOAT, .rank = vector ? 1 : 2};
    value.dims[0] = vector ? count : p->operands[which].rows;
    value.dims[1] = count;
    value.constant = at ? at + first : NULL;
    value.row_stride = vector ? 0 : p->operands[which].cols;
    return value;
}

static struct onnx_value constant(const struct onnxruntime_graph *g, enum layer_operand which)
{
    static const char *const names[LAYER_OPERANDS] = {
        [LAYER_W_QKV] = "w_qkv",   [LAYER_W_OUT] = "w_out", [LAYER_W_GATE] = "w_gate", [LAYER_W_UP] = "w_up",
        [LAYER_W_DOWN] = "w_down", [LAYER_B_QKV] = "b_qkv", [LAYER_B_OUT] = "b_out",   [LAYER_B_UP] = "b_up",
        [LAYER_B_DOWN] = "b_down", [LAYER_GAMMA1] = "g_1",  [LAYER_BETA1] = "b_1",     [LAYER_GAMMA2] = "g_2",
        [LAYER_BETA2] = "b_2"};
    return columns(g, which, names[which], 0, g->problem->operands[which].cols);
}

static struct onnx_value activations(const struct layer_problem *p, const char *name)
{
    return (struct onnx_value){
        .name = name, .type = ONNX_FLOAT, .rank = 3, .dims = {p->shape->batch, p->shape->len, p->shape->width}};
}

struct onnx_value onnxruntime_x(const struct layer_problem *p)
{
    return activations(p, "x");
}

struct onnx_value onnxruntime_y(const struct layer_problem *p)
{
    return activations(p, "y");
}

struct onnx_value onnxruntime_cache(const struct layer_problem *p, const char *name)
{
    return (struct onnx_value){.name = name,
                               .type = ONNX_FLOAT,
                               .rank = 4,
                               .dims = {p->shape->batch, p->shape->kv_heads, p->shape->keys, p->dim}};
}

struct onnx_value onnxruntime_lengths(const struct layer_problem *p)
{
    return (struct onnx_value){.name = "lengths", .type = ONNX_INT32, .rank = 1, .dims = {p->shape->batch}};
}

struct onnx_value onnxruntime_total(void)
{
    return (struct onnx_value){.name = "total", .type = ONNX_INT32, .rank = 0};
}

// The last node's output is the model's.
static void end(struct onnxruntime_graph *g)
{
    g->nodes[g->count - 1].outputs[0] = onnxruntime_y(g->problem);
}

static void norm(struct onnxruntime_graph *g, struct onnx_value x, enum layer_operand gamma, enum layer_operand beta,
                 const char *out)
{
    const bool rms = g->problem->kind == LAYER_DECODE_GATED;
    struct onnx_node *const node = put(g, rms ? "SimplifiedLayerNormalization" : "LayerNormalization", NULL, out,
                                       rms ? 2 : 3, (struct onnx_value[]){x, constant(g, gamma), constant(g, beta)});
    attribute(node, "axis", -1, 0);
    attribute(node, "epsilon", 0, g->problem->eps);
}

// Three products, as models have them.
static void project(struct onnxruntime_graph *g, struct onnx_value x)
{
    const size_t width = g->problem->shape->width;
    put2(g, "MatMul", x, columns(g, LAYER_W_QKV, "w_q", 0, width), "q");
    put2(g, "MatMul", x, columns(g, LAYER_W_QKV, "w_k", width, width), "k");
    put2(g, "MatMul", x, columns(g, LAYER_W_QKV, "w_v", 2 * width, width), "v");
}

static void multi_head(struct onnxruntime_graph *g, struct onnx_value x)
{
    project(g, x);
    attribute(put(g, "MultiHeadAttention", ONNX_CONTRIB, "attention", 4,
                  (struct onnx_value[]){flow("q"), flow("k"), flow("v"), constant(g, LAYER_B_QKV)}),
              "num_heads", (int64_t)g->problem->shape->heads, 0);
}

// Past and present are one memory, into which each call writes its last keys.
static void group_query(struct onnxruntime_graph *g, struct onnx_value x)
{
    const struct layer_problem *const p = g->problem;
    const bool gated = p->kind == LAYER_DECODE_GATED;
    const struct onnx_value table = {
        .name = "cos", .type = ONNX_FLOAT, .rank = 2, .dims = {p->shape->keys, p->dim / 2}};
    struct onnx_value cosines = table, sines = table;
    cosines.constant = p->cos;
    sines.constant = p->sin;
    sines.name = "sin";
    put2(g, "MatMul", x, constant(g, LAYER_W_QKV), "qkv");
    if (!gated)
        put2(g, "Add", flow("qkv"), constant(g, LAYER_B_QKV), "qkv_biased");
    struct onnx_node *const node =
        put(g, "GroupQueryAttention", ONNX_CONTRIB, "attention", gated ? 9 : 7,
            (struct onnx_value[]){flow(gated ? "qkv" : "qkv_biased"), flow(NULL), flow(NULL),
                                  onnxruntime_cache(p, "past_k"), onnxruntime_cache(p, "past_v"),
                                  onnxruntime_lengths(p), onnxruntime_total(), cosines, sines});
    attribute(node, "num_heads", (int64_t)p->shape->heads, 0);
    attribute(node, "kv_num_heads", (int64_t)p->shape->kv_heads, 0);
    attribute(node, "do_rotary", gated, 0);
    node->outputs[1] = onnxruntime_cache(p, "present_k");
    node->outputs[2] = onnxruntime_cache(p, "present_v");
    node->output_count = 3;
}

// The norm of x + skip + bias; `sum`, where it is wanted, is what was normed.
static void skip_norm(struct onnxruntime_graph *g, struct onnx_value x, struct onnx_value skip, bool second,
                      enum layer_operand bias, const char *out, const char *sum)
{
    const struct onnx_value gamma = constant(g, second ? LAYER_GAMMA2 : LAYER_GAMMA1);
    const struct onnx_value beta = constant(g, second ? LAYER_BETA2 : LAYER_BETA1);
    struct onnx_node *node;
    if (g->problem->kind == LAYER_DECODE_GATED)
        node = put(g, "SkipSimplifiedLayerNormalization", ONNX_CONTRIB, out, 3, (struct onnx_value[]){x, skip, gamma});
    else
        node = put(g, "SkipLayerNormalization", ONNX_CONTRIB, out, 5,
                   (struct onnx_value[]){x, skip, gamma, beta, constant(g, bias)});
    attribute(node, "epsilon", 0, g->problem->eps);
    node->outputs[3] = flow(sum);
    node->output_count = sum ? 4 : 1;
}

// The hidden row of the feed-forward network.
static void hidden(struct onnxruntime_graph *g, struct onnx_value x)
{
    put2(g, "MatMul", x, constant(g, LAYER_W_UP), "up");
    if (g->problem->kind == LAYER_DECODE_GATED) {
        put2(g, "MatMul", x, constant(g, LAYER_W_GATE), "gate");
        attribute(put(g, "QuickGelu", ONNX_CONTRIB, "silu", 1, (struct onnx_value[]){flow("gate")}), "alpha", 0, 1);
        put2(g, "Mul", flow("silu"), flow("up"), "hidden");
        return;
    }
    put(g, g->problem->kind == LAYER_DECODE ? "FastGelu" : "BiasGelu", ONNX_CONTRIB, "hidden", 2,
        (struct onnx_value[]){flow("up"), constant(g, LAYER_B_UP)});
}

static void fuse(struct onnxruntime_graph *g, void (*attend)(struct onnxruntime_graph *g, struct onnx_value x))
{
    const struct onnx_value x = onnxruntime_x(g->problem);
    const bool post = g->problem->kind == LAYER_ENCODER;
    if (!post)
        norm(g, x, LAYER_GAMMA1, LAYER_BETA1, "normed");
    attend(g, post ? x : flow("normed"));
    put2(g, "MatMul", flow("attention"), constant(g, LAYER_W_OUT), "out");
    skip_norm(g, flow("out"), x, !post, LAYER_B_OUT, post ? "mid" : "in", post ? NULL : "mid");
    hidden(g, flow(post ? "mid" : "in"));
    put2(g, "MatMul", flow("hidden"), constant(g, LAYER_W_DOWN), "down");
    if (post) {
        skip_norm(g, flow("down"), flow("mid"), true, LAYER_B_DOWN, "y", NULL);
    } else {
        const bool biased = g->problem->kind != LAYER_DECODE_GATED;
        if (biased)
            put2(g, "Add", flow("down"), constant(g, LAYER_B_DOWN), "down_biased");
        put2(g, "Add", flow(biased ? "down_biased" : "down"), flow("mid"), "y");
    }
    end(g);
}

void onnxruntime_fused(struct onnxruntime_graph *g)
{
    fuse(g, g->problem->kind & LAYER_CACHED ? group_query : multi_head);
}

static void attention(struct onnxruntime_graph *g, struct onnx_value x)
{
    attribute(put(g, "Attention", ONNX_CONTRIB, "attention", 3,
                  (struct onnx_value[]){x, constant(g, LAYER_W_QKV), constant(g, LAYER_B_QKV)}),
              "num_heads", (int64_t)g->problem->shape->heads, 0);
}

void onnxruntime_fused_projections(struct onnxruntime_graph *g)
{
    fuse(g, attention);
}

static struct onnx_value scalar(const char *name, const float *value)
{
    return (struct onnx_value){.name = name, .type = ONNX_FLOAT, .rank = 0, .constant = value};
}

static void linear(struct onnxruntime_graph *g, const char *x, enum layer_operand weight, enum layer_operand bias,
                   const char *product, const char *out)
{
    put2(g, "MatMul", flow(x), constant(g, weight), product);
    put2(g, "Add", flow(product), constant(g, bias), out);
}

static void permute(struct onnxruntime_graph *g, const char *x, uint8_t third, uint8_t fourth, const char *out)
{
    struct onnx_node *const node = put(g, "Transpose", NULL, out, 1, (struct onnx_value[]){flow(x)});
    node->attributes[node->attribute_count++] =
        (struct onnx_attribute){.name = "perm", .list_count = 4, .list = {0, 2, third, fourth}};
}

// One of the three, with its bias, as (B, H, S, D) or (keys) (B, H, D, S).
static void split_heads(struct onnxruntime_graph *g, size_t number, const char *const names[5])
{
    const size_t width = g->problem->shape->width;
    const struct onnx_value shape = {
        .name = "shape_heads", .type = ONNX_INT64, .rank = 1, .dims = {4}, .constant = g->heads_shape};
    const bool keys = number == 1;
    put2(g, "Add", flow(names[0]), columns(g, LAYER_B_QKV, names[1], number * width, width), names[2]);
    put2(g, "Reshape", flow(names[2]), shape, names[3]);
    permute(g, names[3], keys ? 3 : 1, keys ? 1 : 3, names[4]);
}

static void exported_attention(struct onnxruntime_graph *g, struct onnx_value x)
{
    static const char *const names[3][5] = {{"q", "b_q", "q_biased", "q_split", "q_heads"},
                                            {"k", "b_k", "k_biased", "k_split", "k_heads"},
                                            {"v", "b_v", "v_biased", "v_split", "v_heads"}};
    const struct onnx_value shape = {
        .name = "shape_rows", .type = ONNX_INT64, .rank = 1, .dims = {3}, .constant = g->rows_shape};
    project(g, x);
    for (size_t i = 0; i < 3; i++)
        split_heads(g, i, names[i]);
    put2(g, "MatMul", flow("q_heads"), flow("k_heads"), "products");
    put2(g, "Div", flow("products"), scalar("root", &g->root), "scores");
    attribute(put(g, "Softmax", NULL, "weights", 1, (struct onnx_value[]){flow("scores")}), "axis", -1, 0);
    put2(g, "MatMul", flow("weights"), flow("v_heads"), "heads");
    permute(g, "heads", 1, 3, "heads_beside");
    put2(g, "Reshape", flow("heads_beside"), shape, "attention");
}

static void exported_gelu(struct onnxruntime_graph *g, const char *x, const char *out)
{
    static const float root = 1.41421356f, one = 1, half = 0.5f;
    put2(g, "Div", flow(x), scalar("root_2", &root), "gelu_in");
    put(g, "Erf", NULL, "erf", 1, (struct onnx_value[]){flow("gelu_in")});
    put2(g, "Add", flow("erf"), scalar("one", &one), "erf_1");
    put2(g, "Mul", flow(x), flow("erf_1"), "gelu_2");
    put2(g, "Mul", flow("gelu_2"), scalar("half", &half), out);
}

void onnxruntime_exported(struct onnxruntime_graph *g)
{
    const struct layer_problem *const p = g->problem;
    const struct onnx_value x = onnxruntime_x(p);
    const bool post = p->kind == LAYER_ENCODER;
    const int64_t heads[4] = {0, 0, (int64_t)p->shape->heads, (int64_t)p->dim},
                  rows[3] = {0, 0, (int64_t)p->shape->width};
    memcpy(g->heads_shape, heads, sizeof heads);
    memcpy(g->rows_shape, rows, sizeof rows);
    g->root = sqrtf((float)p->dim);
    if (!post)
        norm(g, x, LAYER_GAMMA1, LAYER_BETA1, "normed");
    exported_attention(g, post ? x : flow("normed"));
    linear(g, "attention", LAYER_W_OUT, LAYER_B_OUT, "out", "out_biased");
    put2(g, "Add", flow("out_biased"), x, post ? "sum" : "mid");
    norm(g, flow(post ? "sum" : "mid"), post ? LAYER_GAMMA1 : LAYER_GAMMA2, post ? LAYER_BETA1 : LAYER_BETA2,
         post ? "mid" : "in");
    linear(g, post ? "mid" : "in", LAYER_W_UP, LAYER_B_UP, "up", "up_biased");
    exported_gelu(g, "up_biased", "hidden");
    linear(g, "hidden", LAYER_W_DOWN, LAYER_B_DOWN, "down", "down_biased");
    put2(g, "Add", flow("down_biased"), flow("mid"), post ? "sum_2" : "y");
    if (post)
        norm(g, flow("sum_2"), LAYER_GAMMA2, LAYER_BETA2, "y");
    end(g);
}
