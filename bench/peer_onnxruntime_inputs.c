// SPDX-License-Identifier: Apache-2.0
// bench/peer_onnxruntime_inputs.c - operands, masks and caches as tensors of ONNX Runtime.
#include "bench/peer_onnxruntime_inputs.h"
#include "bench/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void release_all(void **values, size_t count)
{
    for (size_t i = 0; i < count && values; i++)
        if (values[i])
            ort.release_value(values[i]);
}

void onnxruntime_free(struct onnxruntime_call *self)
{
    if (self->session)
        ort.release_session(self->session);
    release_all(self->values, ONNX_VALUES);
    release_all(self->k, self->problem->count);
    release_all(self->v, self->problem->count);
    release_all(&self->out, 1);
    free(self->k);
    free(self->v);
    free(self->lengths);
    bench_free(self->rows, self->problem->memory_bytes);
    bench_free(self->mask, self->mask_bytes);
    bench_free(self->last, self->last_bytes);
}

void onnxruntime_attribute(struct onnxruntime_call *self, const char *name, size_t whole, float real)
{
    self->node.attributes[self->node.attribute_count++] =
        (struct onnx_attribute){.name = name, .whole = (int64_t)whole, .real = real};
}

bool onnxruntime_input(struct onnxruntime_call *self, size_t at, struct onnx_value what, const void *data)
{
    struct onnx_node *const node = &self->node;
    node->inputs[at] = what;
    node->input_count = at + 1 > node->input_count ? at + 1 : node->input_count;
    self->values[at] = peer_onnxruntime_tensor(&what, (void *)data);
    return self->values[at];
}

bool onnxruntime_caches(struct onnxruntime_call *self, size_t k_at, size_t v_at, bool rows)
{
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const struct onnx_value beside = {
        .name = "k", .type = ONNX_FLOAT, .rank = 3, .dims = {s->batch, s->kv_len, s->kv_heads * s->dim}};
    const struct onnx_value of_head = {
        .name = "k", .type = ONNX_FLOAT, .rank = 4, .dims = {s->batch, s->kv_heads, s->kv_len, s->dim}};
    struct onnx_node *const node = &self->node;
    node->inputs[k_at] = node->inputs[v_at] = rows ? of_head : beside;
    node->inputs[v_at].name = "v";
    node->input_count = v_at + 1 > node->input_count ? v_at + 1 : node->input_count;
    self->k_at = k_at;
    self->v_at = v_at;
    self->k = calloc(p->count, sizeof *self->k);
    self->v = calloc(p->count, sizeof *self->v);
    bool done = self->k && self->v;
    for (size_t i = 0; i < p->count && done; i++) {
        float *const k = (self->rows ? self->rows : p->memory) + i * p->cache_floats;
        self->k[i] = peer_onnxruntime_tensor(&node->inputs[k_at], k);
        self->v[i] = peer_onnxruntime_tensor(&node->inputs[v_at], k + p->v_offset);
        done = self->k[i] && self->v[i];
    }
    return done;
}

bool onnxruntime_result(struct onnxruntime_call *self, const struct onnx_value *query)
{
    self->node.outputs[0] = *query;
    self->node.outputs[0].name = "out";
    self->node.output_count = 1;
    self->out = peer_onnxruntime_tensor(query, self->problem->args.out);
    return self->out;
}

struct onnx_value onnxruntime_query(const struct attention_shape *s)
{
    return (struct onnx_value){
        .name = "q", .type = ONNX_FLOAT, .rank = 3, .dims = {s->batch, s->q_len, s->heads * s->dim}};
}

bool onnxruntime_bias(struct onnxruntime_call *self, size_t at)
{
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const size_t heads = p->kind == ATTENTION_ALIBI ? s->heads : 1;
    self->mask_bytes = heads * s->q_len * s->kv_len * sizeof(float);
    self->mask = bench_alloc(self->mask_bytes);
    for (size_t r = 0; r < heads * s->q_len && self->mask; r++)
        for (size_t j = 0; j < s->kv_len; j++) {
            const size_t i = r % s->q_len;
            self->mask[r * s->kv_len + j] =
                attention_problem_sees(p, i, j) ? attention_problem_bias(p, i, j) : -INFINITY;
        }
    return self->mask && onnxruntime_input(self, at,
                                           (struct onnx_value){.name = "bias",
                                                               .type = ONNX_FLOAT,
                                                               .rank = 4,
                                                               .dims = {1, heads, s->q_len, s->kv_len}},
                                           self->mask);
}

bool onnxruntime_key_mask(struct onnxruntime_call *self, size_t at)
{
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const bool lengths = p->kind == ATTENTION_PADDED;
    const size_t count = s->batch * (lengths ? 1 : s->kv_len);
    self->lengths = calloc(count, sizeof *self->lengths);
    for (size_t i = 0; i < count && self->lengths; i++)
        self->lengths[i] = lengths ? (int32_t)p->args.kv_lens[i] : p->args.mask[i % s->kv_len];
    const struct onnx_value what = {
        .name = "mask", .type = ONNX_INT32, .rank = lengths ? 1 : 2, .dims = {s->batch, s->kv_len}};
    return self->lengths && onnxruntime_input(self, at, what, self->lengths);
}

// The last rows of cache 0 as (B, Sq, Hkv, D). Every cache gets them: the time is the same.
static void take_last(const struct onnxruntime_call *self, float *last_k, float *last_v)
{
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    for (size_t r = 0; r < s->batch * s->q_len * s->kv_heads; r++) {
        const size_t b = r / s->kv_heads / s->q_len, i = r / s->kv_heads % s->q_len, g = r % s->kv_heads;
        const size_t from = ((b * s->kv_heads + g) * s->kv_len + s->kv_len - s->q_len + i) * s->dim;
        memcpy(last_k + r * s->dim, self->rows + from, s->dim * sizeof(float));
        memcpy(last_v + r * s->dim, self->rows + p->v_offset + from, s->dim * sizeof(float));
    }
}

bool onnxruntime_last(struct onnxruntime_call *self, size_t k_at, size_t v_at, size_t lengths_at, size_t total_at)
{
    const struct attention_shape *const s = self->problem->shape;
    const size_t floats = s->batch * s->q_len * s->kv_heads * s->dim, rows = s->kv_heads * s->dim;
    const struct onnx_value k = {.name = "last_k", .type = ONNX_FLOAT, .rank = 3, .dims = {s->batch, s->q_len, rows}};
    const struct onnx_value v = {.name = "last_v", .type = ONNX_FLOAT, .rank = 3, .dims = {s->batch, s->q_len, rows}};
    const struct onnx_value lengths = {.name = "lengths", .type = ONNX_INT32, .rank = 1, .dims = {s->batch}};
    const struct onnx_value total = {.name = "total", .type = ONNX_INT32, .rank = 0, .dims = {0}};
    self->last_bytes = 2 * floats * sizeof(float);
    self->last = bench_alloc(self->last_bytes);
    self->lengths = calloc(s->batch + 1, sizeof *self->lengths);
    if (!self->last || !self->lengths)
        return false;
    take_last(self, self->last, self->last + floats);
    for (size_t b = 0; b < s->batch; b++)
        self->lengths[b] = (int32_t)s->kv_len - 1; // as the operator counts them
    self->lengths[s->batch] = (int32_t)s->kv_len;
    return onnxruntime_input(self, k_at, k, self->last) && onnxruntime_input(self, v_at, v, self->last + floats) &&
           onnxruntime_input(self, lengths_at, lengths, self->lengths) &&
           onnxruntime_input(self, total_at, total, self->lengths + s->batch);
}
