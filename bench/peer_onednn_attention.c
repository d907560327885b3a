// SPDX-License-Identifier: Apache-2.0
// bench/peer_onednn_attention.c - attention of oneDNN's primitives: matmul, softmax in place, matmul.
//
// Operands are read where they lie, by strides of (entry, head, row): with four dimensions oneDNN has a fast path for
// rows of several heads beside one another.
#include "bench/composite.h"
#include "bench/peer_onednn.h"

#include <math.h>
#include <stdlib.h>

enum { PRIMITIVES = 3, OPERANDS = 5, Q = 0, K, V, OUT, SCORES };

// What a block needs.
struct block {
    void *pd[PRIMITIVES], *primitive[PRIMITIVES]; // scores, softmax, values
    void *memory[OPERANDS];
};
struct prepared {
    size_t count;
    struct block blocks[];
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    for (size_t i = 0; i < self->count; i++) {
        const struct block *const block = &self->blocks[i];
        for (size_t j = 0; j < OPERANDS; j++)
            if (block->memory[j])
                dnnl.memory_destroy(block->memory[j]);
        for (size_t j = 0; j < PRIMITIVES; j++) {
            if (block->primitive[j])
                dnnl.destroy(block->primitive[j]);
            if (block->pd[j])
                dnnl.pd_destroy(block->pd[j]);
        }
    }
    free(self);
}

// rows x cols of each head, of rows, or (turned) of columns that lie where rows do.
static bool describe(struct onednn_descriptor *md, const struct composite_cut *cut, const struct fovea_strides *at,
                     size_t rows, size_t cols, bool turned)
{
    const int64_t dims[DNNL_DIMS] = {(int64_t)cut->batch, (int64_t)cut->heads, (int64_t)rows, (int64_t)cols};
    const int64_t row = (int64_t)at->row;
    const int64_t strides[DNNL_DIMS] = {(int64_t)at->batch, (int64_t)at->head, turned ? 1 : row, turned ? row : 1};
    return dnnl.by_strides(md, 4, dims, DNNL_F32, strides) == 0;
}

static bool make_block(struct block *self, const struct composite_cut *cut, const struct composite_block *block,
                       const void *scaled)
{
    enum { LAST_AXIS = 3 };
    const size_t d = cut->problem->shape->dim, head = block->rows * block->keys;
    const struct fovea_strides dense = {cut->heads * head, head, block->keys};
    struct onednn_descriptor md[OPERANDS], op[PRIMITIVES];
    if (!describe(&md[Q], cut, &cut->q, block->rows, d, false) ||
        !describe(&md[K], cut, &cut->k, d, block->keys, true) ||
        !describe(&md[V], cut, &cut->v, block->keys, d, false) ||
        !describe(&md[OUT], cut, &cut->q, block->rows, d, false) ||
        !describe(&md[SCORES], cut, &dense, block->rows, block->keys, false))
        return false;
    bool done = dnnl.matmul_init(&op[0], &md[Q], &md[K], NULL, &md[SCORES]) == 0 &&
                dnnl.softmax_init(&op[1], DNNL_INFERENCE, &md[SCORES], LAST_AXIS) == 0 &&
                dnnl.matmul_init(&op[2], &md[SCORES], &md[V], NULL, &md[OUT]) == 0;
    for (size_t i = 0; i < PRIMITIVES && done; i++)
        done = dnnl.pd_create(&self->pd[i], &op[i], i == 0 ? scaled : NULL, dnnl.engine, NULL) == 0 &&
               dnnl.create(&self->primitive[i], self->pd[i]) == 0;
    for (size_t i = 0; i < OPERANDS && done; i++)
        done = dnnl.memory_create(&self->memory[i], &md[i], dnnl.engine, NULL) == 0;
    return done;
}

static void *prepare(const void *state, const struct composite_cut *cut)
{
    (void)state;
    const float scale = 1 / sqrtf((float)cut->problem->shape->dim);
    struct prepared *const self = calloc(1, sizeof *self + cut->block_count * sizeof *self->blocks);
    void *scaled = NULL;
    if (!self)
        return NULL;
    bool done = dnnl.attr_create(&scaled) == 0 && dnnl.attr_scales(scaled, 1, 0, &scale) == 0;
    self->count = cut->block_count;
    for (size_t i = 0; i < cut->block_count && done; i++)
        done = make_block(&self->blocks[i], cut, &cut->blocks[i], scaled);
    if (scaled)
        dnnl.attr_destroy(scaled);
    if (done)
        return self;
    release(self);
    return NULL;
}

static void execute(const struct block *block, size_t primitive, int count, const struct onednn_argument *arguments)
{
    dnnl.execute(block->primitive[primitive], dnnl.stream, count, arguments);
    dnnl.stream_wait(dnnl.stream);
}

static void scores(const void *prepared, size_t i, const struct composite_place *place)
{
    const struct block *const block = &((const struct prepared *)prepared)->blocks[i];
    const struct onednn_argument arguments[] = {
        {DNNL_ARG_SRC, block->memory[Q]}, {DNNL_ARG_WEIGHTS, block->memory[K]}, {DNNL_ARG_DST, block->memory[SCORES]}};
    dnnl.memory_set(block->memory[Q], (void *)place->q);
    dnnl.memory_set(block->memory[K], (void *)place->k);
    dnnl.memory_set(block->memory[SCORES], place->scores);
    execute(block, 0, 3, arguments);
}

static void values(const void *prepared, size_t i, const struct composite_place *place)
{
    const struct block *const block = &((const struct prepared *)prepared)->blocks[i];
    const struct onednn_argument softmax[] = {{DNNL_ARG_SRC, block->memory[SCORES]},
                                              {DNNL_ARG_DST, block->memory[SCORES]}};
    const struct onednn_argument arguments[] = {{DNNL_ARG_SRC, block->memory[SCORES]},
                                                {DNNL_ARG_WEIGHTS, block->memory[V]},
                                                {DNNL_ARG_DST, block->memory[OUT]}};
    dnnl.memory_set(block->memory[V], (void *)place->v);
    dnnl.memory_set(block->memory[OUT], place->out);
    execute(block, 1, 2, softmax);
    execute(block, 2, 3, arguments);
}

static const struct composite_maker maker = {
    .whole = true, .prepare = prepare, .scores = scores, .values = values, .release = release};

struct contestant peer_onednn_attention(void)
{
    return composite_contestant(&maker);
}
