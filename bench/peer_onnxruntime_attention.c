// SPDX-License-Identifier: Apache-2.0
// bench/peer_onnxruntime_attention.c - ONNX Runtime's operators of attention; each does the lines that it has.
//
// MultiHeadAttention is fused where there is no mask. GroupQueryAttention is fused, always causal, and has a cache:
// past and present are the same memory, into which the last keys and values are written anew by each call. Attention is
// ONNX's own operator. Masks are inputs, made beforehand in the form that costs an operator least.
#include "bench/peer_onnxruntime_inputs.h"

#include <stdlib.h>

enum {
    // Kinds with a mask of keys, which MultiHeadAttention takes as such; and those that are not causal order alone.
    KEY_MASKED = ATTENTION_PADDED | ATTENTION_MASK | ATTENTION_DECODE_MASK,
    MASKED = KEY_MASKED | ATTENTION_WINDOW | ATTENTION_ALIBI,
};

struct onnxruntime_operation {
    const char *name, *domain;
    unsigned kinds; // that it does
    bool writes;    // into the cache
    bool (*describe)(struct onnxruntime_call *self);
};

static bool cached(const struct attention_problem *p)
{
    return p->kind & ATTENTION_CACHED;
}

static bool multi_head(struct onnxruntime_call *self)
{
    enum { QUERY, KEY, VALUE, QKV_BIAS, KEY_MASK, BIAS };
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const struct onnx_value query = onnxruntime_query(s);
    if (s->heads != s->kv_heads || (p->desc.causal && s->q_len != s->kv_len))
        return false;
    onnxruntime_attribute(self, "num_heads", s->heads, 0);
    onnxruntime_attribute(self, "unidirectional", p->desc.causal, 0);
    return onnxruntime_input(self, QUERY, query, p->args.q) && onnxruntime_caches(self, KEY, VALUE, cached(p)) &&
           onnxruntime_result(self, &query) && (!(p->kind & KEY_MASKED) || onnxruntime_key_mask(self, KEY_MASK)) &&
           (p->kind != ATTENTION_ALIBI || onnxruntime_bias(self, BIAS));
}

static bool group_query(struct onnxruntime_call *self)
{
    enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, BIAS = 10 };
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const struct onnx_value query = onnxruntime_query(s);
    onnxruntime_attribute(self, "num_heads", s->heads, 0);
    onnxruntime_attribute(self, "kv_num_heads", s->kv_heads, 0);
    if (p->kind == ATTENTION_WINDOW)
        onnxruntime_attribute(self, "local_window_size", ATTENTION_WINDOW_LEFT + 1, 0); // the query's own key counts
    if (!onnxruntime_input(self, QUERY, query, p->args.q) || !onnxruntime_result(self, &query) ||
        !onnxruntime_caches(self, PAST_KEY, PAST_VALUE, true) || !onnxruntime_last(self, KEY, VALUE, LENGTHS, TOTAL) ||
        (p->kind & (ATTENTION_ALIBI | ATTENTION_DECODE_MASK) && !onnxruntime_bias(self, BIAS)))
        return false;
    struct onnx_node *const node = &self->node;
    node->outputs[1] = node->inputs[PAST_KEY];
    node->outputs[2] = node->inputs[PAST_VALUE];
    node->outputs[1].name = "present_k";
    node->outputs[2].name = "present_v";
    node->output_count = 3;
    return true;
}

static bool attention(struct onnxruntime_call *self)
{
    enum { QUERY, KEY, VALUE, MASK };
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const bool causal = p->kind & (ATTENTION_CAUSAL | ATTENTION_ALIBI);
    struct onnx_value query = onnxruntime_query(s);
    if ((causal && s->q_len != s->kv_len) || (cached(p) && s->q_len > 1))
        return false;
    if (cached(p)) // heads apart, like those of the cache: with one query that is the same memory
        query =
            (struct onnx_value){.name = "q", .type = ONNX_FLOAT, .rank = 4, .dims = {s->batch, s->heads, 1, s->dim}};
    if (!cached(p)) { // else they are told by the shapes
        onnxruntime_attribute(self, "q_num_heads", s->heads, 0);
        onnxruntime_attribute(self, "kv_num_heads", s->kv_heads, 0);
    }
    onnxruntime_attribute(self, "is_causal", causal, 0);
    if (p->kind == ATTENTION_SOFTCAP)
        onnxruntime_attribute(self, "softcap", 0, p->desc.softcap);
    return onnxruntime_input(self, QUERY, query, p->args.q) && onnxruntime_caches(self, KEY, VALUE, cached(p)) &&
           onnxruntime_result(self, &query) && (!(p->kind & MASKED) || onnxruntime_bias(self, MASK));
}

static const struct onnxruntime_operation operations[PEER_ONNXRUNTIME_OPS] = {
    {"MultiHeadAttention", ONNX_CONTRIB,
     ATTENTION_FULL | ATTENTION_CAUSAL | KEY_MASKED | ATTENTION_ALIBI | ATTENTION_CACHED, false, multi_head},
    {"GroupQueryAttention", ONNX_CONTRIB, ATTENTION_CAUSAL | ATTENTION_WINDOW | ATTENTION_ALIBI | ATTENTION_CACHED,
     true, group_query},
    {"Attention", NULL, ATTENTION_FULL | ATTENTION_CAUSAL | MASKED | ATTENTION_SOFTCAP | ATTENTION_CACHED, false,
     attention},
};

static bool make(struct onnxruntime_call *self)
{
    const struct attention_problem *const p = self->problem;
    self->node.op = self->op->name;
    self->node.domain = self->op->domain;
    if (self->op->writes || p->desc.k_layout == FOVEA_K_PANELS) {
        self->rows = attention_problem_rows(p);
        if (!self->rows)
            return false;
    }
    if (self->op->describe(self))
        self->session = peer_onnxruntime_session(&self->node, 1);
    return self->session;
}

static void release(void *memory)
{
    onnxruntime_free(memory);
    free(memory);
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    const struct onnxruntime_operation *const op = state;
    const struct attention_problem *const p = problem;
    struct onnxruntime_call *const self = packed || !(p->kind & op->kinds) ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = p;
    self->op = op;
    if (!make(self)) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    struct onnxruntime_call *const self = prepared;
    const struct onnx_node *const node = &self->node;
    const char *inputs[ONNX_VALUES], *outputs[ONNX_VALUES];
    const void *values[ONNX_VALUES];
    void *results[ONNX_VALUES] = {self->out, self->k[index], self->v[index]};
    size_t count = 0;
    for (size_t i = 0; i < node->input_count; i++)
        if (node->inputs[i].name) {
            inputs[count] = node->inputs[i].name;
            values[count++] = i == self->k_at ? self->k[index] : i == self->v_at ? self->v[index] : self->values[i];
        }
    for (size_t i = 0; i < node->output_count; i++)
        outputs[i] = node->outputs[i].name;
    ort.run(self->session, NULL, inputs, values, count, outputs, node->output_count, results);
}

struct contestant peer_onnxruntime_attention(size_t number, const char **op)
{
    *op = operations[number].name;
    return (struct contestant){.state = &operations[number], .prepare = prepare, .run = run, .release = release};
}
