// SPDX-License-Identifier: Apache-2.0
// bench/peer_ggml_attention.c - ggml's flash_attn_ext.
//
// Operands are read where they lie, but K in panels, of which it gets rows. Causal order, windows, lengths and masks
// are one additive mask of 16 bits, made beforehand. Caches of 16 bits are such for it, too: then it rounds queries
// and, of f16, sums of values, and is allowed as much error more.
#include "bench/attention_problem.h"
#include "bench/memory.h"
#include "bench/peer_ggml.h"

#include <math.h>
#include <stdlib.h>

enum {
    NODES = 16,
    TENSORS = 9, // four operands, three of them permuted, the result, and one to spare
    KINDS = ATTENTION_CACHED | ATTENTION_FULL | ATTENTION_CAUSAL | ATTENTION_PADDED | ATTENTION_WINDOW |
            ATTENTION_MASK | ATTENTION_SOFTCAP,
    MINUS_INFINITY = 0xfc00, // as a number of 16 bits
};

struct prepared {
    const struct attention_problem *problem;
    enum ggml_type type; // of K and V
    void *context, **graphs;
    void *buffers[3]; // over the operands, the caches, the mask
    void *caches;     // NULL: in place
    float *rows;      // NULL, or caches whose K is in rows
    uint16_t *mask;   // NULL: every row sees every key
    size_t mask_bytes, caches_bytes;
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    if (self->context)
        ggml.free(self->context);
    for (size_t i = 0; i < sizeof self->buffers / sizeof *self->buffers; i++)
        if (self->buffers[i])
            ggml.buffer_free(self->buffers[i]);
    bench_free(self->rows, self->problem->memory_bytes);
    bench_free(self->caches, self->caches_bytes);
    bench_free(self->mask, self->mask_bytes);
    free(self->graphs);
    free(self);
}

static bool make_mask(struct prepared *self)
{
    const struct attention_problem *const p = self->problem;
    const size_t keys = p->shape->kv_len;
    if (!(p->kind & ATTENTION_PADDED || p->desc.causal || p->desc.mask))
        return true;
    self->mask_bytes = p->shape->q_len * keys * sizeof *self->mask;
    self->mask = bench_alloc(self->mask_bytes);
    for (size_t i = 0; i < p->shape->q_len && self->mask; i++)
        for (size_t j = 0; j < keys; j++)
            self->mask[i * keys + j] = attention_problem_sees(p, i, j) ? 0 : MINUS_INFINITY;
    self->buffers[2] = self->mask ? ggml.buffer(self->mask, self->mask_bytes) : NULL;
    return self->buffers[2];
}

// K and V as it takes them.
static bool make_caches(struct prepared *self)
{
    const struct attention_problem *const p = self->problem;
    const size_t count = p->count * p->cache_floats;
    const void *at = p->memory;
    size_t bytes = p->memory_bytes;
    if (p->desc.k_layout == FOVEA_K_PANELS)
        at = self->rows = attention_problem_rows(p);
    if (at && self->type != GGML_F32) {
        bytes = self->caches_bytes = count * sizeof(uint16_t);
        self->caches = bench_alloc(bytes);
        if (self->caches)
            ggml.quantize(self->type, at, self->caches, 0, 1, (int64_t)count, NULL);
        at = self->caches;
    }
    self->buffers[1] = at ? ggml.buffer((void *)(uintptr_t)at, bytes) : NULL;
    return self->buffers[1];
}

static void *placed(const struct prepared *self, enum ggml_type type, const size_t sizes[4], void *buffer,
                    const void *at)
{
    int64_t wanted[4];
    for (int i = 0; i < 4; i++)
        wanted[i] = (int64_t)sizes[i];
    void *const tensor = ggml.tensor(self->context, type, 4, wanted);
    return tensor && ggml.place(buffer, tensor, (void *)(uintptr_t)at) == 0 ? tensor : NULL;
}

// Rows of all heads side by side (B, S, H, D), or of each head (B, H, S, D): the latter is what it wants.
static void *turned(const struct prepared *self, void *tensor, bool apart)
{
    return !tensor || apart ? tensor : ggml.permute(self->context, tensor, 0, 2, 1, 3);
}

static void *make_graph(const struct prepared *self, void *q, void *mask, size_t index)
{
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const bool apart = p->kind & ATTENTION_CACHED;
    const float scale = 1 / sqrtf((float)s->dim);
    const size_t element = self->type == GGML_F32 ? sizeof(float) : sizeof(uint16_t);
    const size_t sizes[4] = {s->dim, apart ? s->kv_len : s->kv_heads, apart ? s->kv_heads : s->kv_len, s->batch};
    const char *const base = self->caches ? self->caches : self->rows ? (void *)self->rows : (void *)p->memory;
    const char *const cache = base + index * p->cache_floats * element;
    void *const k = turned(self, placed(self, self->type, sizes, self->buffers[1], cache), apart);
    void *const v =
        turned(self, placed(self, self->type, sizes, self->buffers[1], cache + p->v_offset * element), apart);
    void *const out = k && v ? ggml.attention(self->context, q, k, v, mask, scale, 0, p->desc.softcap) : NULL;
    void *const graph = ggml.graph(self->context, NODES, false);
    if (!out || !graph || ggml.place(self->buffers[0], out, p->args.out) != 0)
        return NULL;
    ggml.expand(graph, out);
    return graph;
}

static bool make(struct prepared *self)
{
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const struct ggml_room room = {.bytes = (p->count + 1) *
                                            (TENSORS * ggml.tensor_overhead() + ggml.graph_overhead(NODES, false)),
                                   .no_data = true};
    self->graphs = calloc(p->count, sizeof *self->graphs);
    self->context = self->graphs ? ggml.init(room) : NULL;
    self->buffers[0] = self->context ? ggml.buffer(p->memory, p->memory_bytes) : NULL;
    if (!self->buffers[0] || !make_caches(self) || !make_mask(self))
        return false;
    const size_t sizes[4] = {s->dim, s->heads, s->q_len, s->batch}, of_mask[4] = {s->kv_len, s->q_len, 1, 1};
    void *const q = turned(self, placed(self, GGML_F32, sizes, self->buffers[0], p->args.q), false);
    void *const mask = self->mask ? placed(self, GGML_F16, of_mask, self->buffers[2], self->mask) : NULL;
    bool done = q && (mask || !self->mask);
    for (size_t i = 0; i < p->count && done; i++)
        done = (self->graphs[i] = make_graph(self, q, mask, i));
    return done;
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    (void)state;
    const struct attention_problem *const p = problem;
    struct prepared *const self = packed || !(p->kind & KINDS) ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = p;
    self->type = p->desc.kv_type == FOVEA_BF16 ? GGML_BF16 : p->desc.kv_type == FOVEA_F16 ? GGML_F16 : GGML_F32;
    if (!make(self)) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    const struct prepared *const self = prepared;
    ggml.compute(ggml.backend, self->graphs[index]);
}

static double coarse(const void *prepared)
{
    const struct prepared *const self = prepared;
    return self->type == GGML_F32 ? 1 : 1000;
}

struct contestant peer_ggml_attention(void)
{
    return (struct contestant){.prepare = prepare, .run = run, .release = release, .coarse = coarse};
}
