// SPDX-License-Identifier: Apache-2.0
// history/duel_attention.c - attention of one batch entry: q, k, v and the result as (L, H, d).
#include "history/duel_kinds.h"

#include <stdlib.h>

struct attention {
    struct duel_state state;
    const struct library *library;
    struct fovea_attention_args args;
    void *plan, *shared, *scratch;
};

static bool run(struct duel_state *state)
{
    struct attention *const self = (struct attention *)state;
    return self->library->attention(self->plan, &self->args, self->shared, self->scratch, NULL) == FOVEA_OK;
}

static void release(struct duel_state *state)
{
    struct attention *const self = (struct attention *)state;
    free(self->plan);
    free(self->shared);
    free(self->scratch);
    free(self);
}

static bool plan(struct attention *self, const struct duel_case *with)
{
    const struct library *const library = self->library;
    const size_t heads = with->size[0], dim = with->size[3];
    const struct fovea_strides rows = {0, dim, heads * dim};
    struct fovea_attention_desc desc;
    if (library->attention_desc_init(&desc, sizeof desc) != FOVEA_OK)
        return false;
    desc.causal = (with->flags & DUEL_CAUSAL) != 0;
    desc.batch = 1, desc.heads = desc.kv_heads = heads;
    desc.q_len = with->size[1], desc.kv_len = with->size[2];
    desc.qk_dim = desc.v_dim = dim;
    desc.q = desc.k = desc.v = desc.out = rows;
    desc.q.batch = desc.out.batch = desc.q_len * rows.row;
    desc.k.batch = desc.v.batch = desc.kv_len * rows.row;
    self->plan = duel_alloc(library->attention_plan_size());
    if (!self->plan || library->attention_plan(library->engine, &desc, self->plan) != FOVEA_OK)
        return false;
    const struct fovea_work *const work = self->plan;
    self->shared = duel_alloc(work->shared_bytes);
    self->scratch = duel_alloc(work->scratch_bytes);
    return self->shared && self->scratch;
}

struct duel_state *duel_attention(const struct duel_case *with, const struct library *library,
                                  const struct duel_operands *operands)
{
    const size_t row = with->size[0] * with->size[3], queries = with->size[1], keys = with->size[2];
    const bool there =
        library->attention && library->attention_plan && library->attention_plan_size && library->attention_desc_init;
    struct attention *const self = there ? calloc(1, sizeof *self) : NULL;
    if (!self)
        return NULL;
    self->state = (struct duel_state){run, release};
    self->library = library;
    self->args = (struct fovea_attention_args){.q = operands->in,
                                               .k = operands->in + queries * row,
                                               .v = operands->in + (queries + keys) * row,
                                               .out = operands->out,
                                               .batch = 1,
                                               .q_len = queries,
                                               .kv_len = keys,
                                               .q_offset = (int64_t)(keys - queries)};
    if (plan(self, with))
        return &self->state;
    release(&self->state);
    return NULL;
}
