// SPDX-License-Identifier: Apache-2.0
// bench/peer_onnxruntime_layer.c - ONNX Runtime's layers: a session for each, made of the same graph.
//
// Sessions have the default options, which are all optimizations; weights are constants, packed when a session is made.
// The output is written in place, and so is the cache.
#include "bench/peer_onnxruntime_layer.h"

#include <stdlib.h>

// The model of a layer, in one of several ways.
struct onnxruntime_form {
    const char *name;
    unsigned kinds;
    void (*write)(struct onnxruntime_graph *graph);
};

struct prepared {
    const struct layer_problem *problem;
    void *x, *y, *lengths, *total;
    void **sessions, **k, **v; // of each layer
    int32_t *numbers;          // what lengths and total point to
};

static void release_values(void **values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        if (values[i])
            ort.release_value(values[i]);
}

static void release(void *memory)
{
    struct prepared *const self = memory;
    const size_t count = self->problem->count;
    for (size_t i = 0; self->sessions && i < count; i++)
        if (self->sessions[i])
            ort.release_session(self->sessions[i]);
    release_values(self->k, count);
    release_values(self->v, count);
    release_values((void *[]){self->x, self->y, self->lengths, self->total}, 4);
    free(self->sessions);
    free(self->k);
    free(self->v);
    free(self->numbers);
    free(self);
}

static void *tensor(struct onnx_value what, void *data)
{
    return peer_onnxruntime_tensor(&what, data);
}

// Counted as GroupQueryAttention counts: a sequence's length without its newest key, and the longest with it.
static bool make_lengths(struct prepared *self)
{
    const struct layer_problem *const p = self->problem;
    self->numbers = calloc(p->shape->batch + 1, sizeof *self->numbers);
    for (size_t b = 0; b <= p->shape->batch && self->numbers; b++)
        self->numbers[b] = (int32_t)p->shape->keys - (b < p->shape->batch);
    if (!self->numbers)
        return false;
    self->lengths = tensor(onnxruntime_lengths(p), self->numbers);
    self->total = tensor(onnxruntime_total(), self->numbers + p->shape->batch);
    return self->lengths && self->total;
}

static bool make_layer(struct prepared *self, const struct onnxruntime_form *form, struct onnxruntime_graph *graph,
                       size_t layer)
{
    const struct layer_problem *const p = self->problem;
    *graph = (struct onnxruntime_graph){.problem = p, .layer = layer};
    form->write(graph);
    self->sessions[layer] = peer_onnxruntime_session(graph->nodes, graph->count);
    if (!(p->kind & LAYER_CACHED))
        return self->sessions[layer];
    self->k[layer] = tensor(onnxruntime_cache(p, "k"), layer_problem_operand(p, layer, LAYER_K_CACHE));
    self->v[layer] = tensor(onnxruntime_cache(p, "v"), layer_problem_operand(p, layer, LAYER_V_CACHE));
    return self->sessions[layer] && self->k[layer] && self->v[layer];
}

static bool make(struct prepared *self, const struct onnxruntime_form *form)
{
    const struct layer_problem *const p = self->problem;
    struct onnxruntime_graph *const graph = malloc(sizeof *graph);
    self->sessions = calloc(p->count, sizeof *self->sessions);
    self->k = calloc(p->count, sizeof *self->k);
    self->v = calloc(p->count, sizeof *self->v);
    self->x = tensor(onnxruntime_x(p), p->x);
    self->y = tensor(onnxruntime_y(p), p->y);
    bool done = graph && self->sessions && self->k && self->v && self->x && self->y && make_lengths(self);
    for (size_t i = 0; i < p->count && done; i++)
        done = make_layer(self, form, graph, i);
    free(graph);
    return done;
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    const struct onnxruntime_form *const form = state;
    const struct layer_problem *const p = problem;
    struct prepared *const self = packed || !(form->kinds & p->kind) ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = p;
    if (!make(self, form)) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    static const char *const inputs[] = {"x", "past_k", "past_v", "lengths", "total"};
    static const char *const outputs[] = {"y", "present_k", "present_v"};
    struct prepared *const self = prepared;
    const bool cached = self->problem->kind & LAYER_CACHED;
    const void *const values[] = {self->x, self->k[index], self->v[index], self->lengths, self->total};
    void *results[] = {self->y, self->k[index], self->v[index]}; // written in place
    ort.run(self->sessions[index], NULL, inputs, values, cached ? 5 : 1, outputs, cached ? 3 : 1, results);
}

struct contestant peer_onnxruntime_layer(size_t number, const char **name)
{
    enum { ENCODERS = LAYER_ENCODER | LAYER_ENCODER_PRE };
    static const struct onnxruntime_form forms[PEER_ONNXRUNTIME_FORMS] = {
        {"as exported", ENCODERS, onnxruntime_exported},
        {"fused", ENCODERS | LAYER_CACHED, onnxruntime_fused},
        {"fused, Attention", ENCODERS, onnxruntime_fused_projections},
    };
    *name = forms[number].name;
    return (struct contestant){.state = &forms[number], .prepare = prepare, .run = run, .release = release};
}
