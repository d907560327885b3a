// SPDX-License-Identifier: Apache-2.0
// bench/fovea_layer.c - fovea's layer as a contestant: one plan, weights packed once, caches with K in panels.
#include "bench/fovea.h"
#include "bench/layer_problem.h"
#include "bench/memory.h"
#include "fovea/layer.h"

#include <stdlib.h>
#include <string.h>

struct prepared {
    const struct layer_problem *problem;
    const struct fovea_executor *executor;
    struct bench_work work;
    struct fovea_layer_weights *weights; // of each layer
    struct fovea_kv_cache *caches;
    char *memory; // what these point to
    size_t memory_bytes, used;
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    bench_work_free(&self->work);
    bench_free(self->memory, self->memory_bytes);
    free(self->weights);
    free(self->caches);
    free(self);
}

static struct fovea_layer_desc describe(const struct layer_problem *p)
{
    const struct layer_shape *const s = p->shape;
    const bool cached = p->kind & LAYER_CACHED, gated = p->kind == LAYER_DECODE_GATED;
    struct fovea_layer_desc desc;
    fovea_layer_desc_init(&desc, sizeof desc);
    desc.causal = desc.cached = cached;
    desc.norm = p->kind == LAYER_ENCODER ? FOVEA_NORM_POST : FOVEA_NORM_PRE;
    desc.norm_kind = gated ? FOVEA_NORM_RMS : FOVEA_NORM_LAYER;
    desc.activation = gated ? FOVEA_ACTIVATION_SILU : cached ? FOVEA_ACTIVATION_GELU_TANH : FOVEA_ACTIVATION_GELU;
    desc.gated = gated;
    desc.eps = p->eps;
    desc.batch = s->batch, desc.len = s->len, desc.width = s->width, desc.ffn = s->ffn;
    desc.kv_len = cached ? s->keys : 0;
    desc.heads = s->heads, desc.kv_heads = s->kv_heads, desc.qk_dim = desc.v_dim = p->dim;
    desc.rotary_dim = gated ? p->dim : 0;
    desc.rotary_positions = gated ? s->keys : 0;
    desc.weight_type = p->type;
    desc.kv_type = p->cache_type;
    return desc;
}

static void *take(struct prepared *self, size_t bytes)
{
    enum { ALIGNMENT = 64 };
    void *const memory = self->memory + self->used;
    self->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return memory;
}

// A matrix as bf16; NULL without memory. Its elements are such numbers.
static uint16_t *halves_of(const struct layer_problem *p, size_t layer, enum layer_operand weight)
{
    const float *const from = layer_problem_operand(p, layer, weight);
    const size_t count = p->operands[weight].rows * p->operands[weight].cols;
    uint16_t *const halves = malloc(count * sizeof *halves);
    for (size_t i = 0; halves && i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        halves[i] = (uint16_t)(bits >> 16);
    }
    return halves;
}

// Some columns of a matrix, from `first` on, as a packed weight; false where it is refused.
static bool pack(struct prepared *self, const struct fovea_engine *engine, size_t layer, enum layer_operand weight,
                 enum layer_operand bias, size_t first, size_t outputs, struct fovea_linear *out)
{
    const struct layer_problem *const p = self->problem;
    const size_t inputs = p->operands[weight].rows;
    const float *const b = layer_problem_operand(p, layer, bias);
    size_t bytes;
    if (fovea_pack_size_typed(p->type, inputs, outputs, &bytes) != FOVEA_OK)
        return false;
    void *const blob = take(self, bytes);
    uint16_t *const halves = p->type == FOVEA_BF16 ? halves_of(p, layer, weight) : NULL;
    const float *const floats = layer_problem_operand(p, layer, weight) + first;
    const void *const from = halves ? (const void *)(halves + first) : floats;
    const size_t cols = p->operands[weight].cols;
    *out = (struct fovea_linear){blob, b ? b + first : NULL};
    const bool done =
        (p->type == FOVEA_BF16) == (halves != NULL) &&
        (p->type == FOVEA_S8
             ? fovea_pack_s8(engine, FOVEA_F32, FOVEA_NO_TRANS, inputs, outputs, from, cols, blob, bytes)
             : fovea_pack_typed(engine, p->type, FOVEA_NO_TRANS, inputs, outputs, from, cols, blob, bytes)) == FOVEA_OK;
    free(halves);
    return done;
}

static bool pack_gated(struct prepared *self, const struct fovea_engine *engine, size_t layer, struct fovea_linear *out)
{
    const struct layer_problem *const p = self->problem;
    const size_t width = p->shape->width, ffn = p->shape->ffn;
    size_t bytes;
    if (fovea_pack_size_typed(p->type, width, 2 * ffn, &bytes) != FOVEA_OK)
        return false;
    void *const blob = take(self, bytes);
    const bool half = p->type == FOVEA_BF16;
    uint16_t *const gate = half ? halves_of(p, layer, LAYER_W_GATE) : NULL;
    uint16_t *const up = half ? halves_of(p, layer, LAYER_W_UP) : NULL;
    const void *const from_gate = half ? (const void *)gate : layer_problem_operand(p, layer, LAYER_W_GATE);
    const void *const from_up = half ? (const void *)up : layer_problem_operand(p, layer, LAYER_W_UP);
    *out = (struct fovea_linear){blob, NULL};
    const bool done =
        (p->type == FOVEA_S8 ? fovea_pack_gated_s8(engine, FOVEA_F32, FOVEA_NO_TRANS, width, ffn, from_gate, ffn,
                                                   from_up, ffn, blob, bytes)
                             : fovea_pack_gated_typed(engine, p->type, FOVEA_NO_TRANS, width, ffn, from_gate, ffn,
                                                      from_up, ffn, blob, bytes)) == FOVEA_OK;
    free(gate);
    free(up);
    return done;
}

static bool pack_layer(struct prepared *self, const struct fovea_engine *engine, size_t layer)
{
    const struct layer_problem *const p = self->problem;
    const size_t width = p->shape->width, kv = p->shape->kv_heads * p->dim;
    struct fovea_layer_weights *const w = &self->weights[layer];
    struct fovea_mha_weights *const a = &w->self_attention;
    w->norm1 = (struct fovea_norm){layer_problem_operand(p, layer, LAYER_GAMMA1),
                                   layer_problem_operand(p, layer, LAYER_BETA1)};
    w->norm3 = (struct fovea_norm){layer_problem_operand(p, layer, LAYER_GAMMA2),
                                   layer_problem_operand(p, layer, LAYER_BETA2)};
    return pack(self, engine, layer, LAYER_W_QKV, LAYER_B_QKV, 0, width, &a->q) &&
           pack(self, engine, layer, LAYER_W_QKV, LAYER_B_QKV, width, kv, &a->k) &&
           pack(self, engine, layer, LAYER_W_QKV, LAYER_B_QKV, width + kv, kv, &a->v) &&
           pack(self, engine, layer, LAYER_W_OUT, LAYER_B_OUT, 0, width, &a->o) &&
           (p->kind == LAYER_DECODE_GATED
                ? pack_gated(self, engine, layer, &w->up)
                : pack(self, engine, layer, LAYER_W_UP, LAYER_B_UP, 0, p->shape->ffn, &w->up)) &&
           pack(self, engine, layer, LAYER_W_DOWN, LAYER_B_DOWN, 0, width, &w->down);
}

// A cache that holds the keys before those of a call.
static bool fill_cache(struct prepared *self, const struct fovea_engine *engine, size_t layer)
{
    const struct layer_problem *const p = self->problem;
    const struct layer_shape *const s = p->shape;
    struct fovea_kv_cache *const cache = &self->caches[layer];
    *cache = (struct fovea_kv_cache){.struct_size = sizeof *cache,
                                     .batch = s->batch,
                                     .kv_heads = s->kv_heads,
                                     .capacity = s->keys,
                                     .qk_dim = p->dim,
                                     .v_dim = p->dim,
                                     .type = p->cache_type,
                                     .engine = engine};
    size_t k, v;
    if (fovea_kv_cache_size(cache, &k, &v) != FOVEA_OK)
        return false;
    cache->k = take(self, k * fovea_type_bytes(p->cache_type));
    cache->v = take(self, v * fovea_type_bytes(p->cache_type));
    const struct fovea_strides rows = {.batch = 0, .head = s->keys * p->dim, .row = p->dim};
    const size_t sequence = s->kv_heads * s->keys * p->dim;
    bool done = true;
    for (size_t b = 0; b < s->batch && done; b++)
        done = fovea_kv_append(cache, b, 0, p->position, layer_problem_operand(p, layer, LAYER_K_CACHE) + b * sequence,
                               rows, layer_problem_operand(p, layer, LAYER_V_CACHE) + b * sequence, rows) == FOVEA_OK;
    return done;
}

static struct fovea_layer_args args_of(const struct prepared *self, size_t index)
{
    const struct layer_problem *const p = self->problem;
    return (struct fovea_layer_args){.weights = &self->weights[index],
                                     .x = p->x,
                                     .y = p->y,
                                     .batch = p->shape->batch,
                                     .len = p->shape->len,
                                     .position = p->position,
                                     .self_cache = p->kind & LAYER_CACHED ? &self->caches[index] : NULL,
                                     .rotary_cos = p->kind == LAYER_DECODE_GATED ? p->cos : NULL,
                                     .rotary_sin = p->kind == LAYER_DECODE_GATED ? p->sin : NULL};
}

static bool make(struct prepared *self, const struct fovea_engine *engine)
{
    enum { PADDING = 64 << 10, COLUMNS = 16 }; // of a layer's blobs and caches: headers and alignment; and of a panel
    const struct layer_problem *const p = self->problem;
    const struct layer_shape *const s = p->shape;
    const struct fovea_layer_desc desc = describe(p);
    const size_t columns = COLUMNS * (2 * s->width + 3 * (s->width + s->ffn) + s->batch * s->kv_heads * p->dim);
    self->weights = calloc(p->count, sizeof *self->weights);
    self->caches = calloc(p->count, sizeof *self->caches);
    self->memory_bytes = p->count * ((p->layer_floats + columns) * sizeof(float) + PADDING);
    self->memory = bench_alloc(self->memory_bytes);
    bool done = self->weights && self->caches && self->memory;
    for (size_t i = 0; i < p->count && done; i++)
        done = pack_layer(self, engine, i) && (!desc.cached || fill_cache(self, engine, i));
    if (!done || !bench_work_plan(&self->work, fovea_layer_plan_size()) ||
        fovea_layer_plan(engine, &desc, self->work.plan) != FOVEA_OK || !bench_work_make(&self->work, self->executor))
        return false;
    const struct fovea_layer_args args = args_of(self, 0);
    return fovea_explain_layer_call(self->work.plan, &args, NULL, 0) == FOVEA_OK; // or nothing would be timed
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    const struct bench_fovea *const with = state;
    struct prepared *const self = packed ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = problem;
    self->executor = with->executor;
    if (!make(self, with->engine)) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    const struct prepared *const self = prepared;
    const struct fovea_layer_args args = args_of(self, index);
    fovea_layer(self->work.plan, &args, self->work.shared, self->work.scratch, self->executor);
}

static size_t work_bytes(const void *prepared)
{
    const struct prepared *const self = prepared;
    return self->work.shared_bytes + self->work.scratch_bytes;
}

struct contestant bench_fovea_layer(const struct bench_fovea *with)
{
    return (struct contestant){"fovea", with, prepare, run, release, work_bytes, NULL};
}
