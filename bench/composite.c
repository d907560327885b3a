// SPDX-License-Identifier: Apache-2.0
// bench/composite.c - the walk over heads and blocks.
#include "bench/composite_cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { // without softcap, dropout and statistics
    KINDS = ATTENTION_FULL | ATTENTION_CAUSAL | ATTENTION_PADDED | ATTENTION_WINDOW | ATTENTION_MASK | ATTENTION_ALIBI |
            ATTENTION_CACHED,
};

static void release(void *memory)
{
    composite_free(memory);
    free(memory);
}

// Copies queries of the heads that share keys to where they are one matrix, or their results back.
static void gather(const struct composite *self, bool back)
{
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const size_t rows = s->batch * s->heads * s->q_len;
    for (size_t r = 0; r < rows; r++) { // of (B, H, Sq, D)
        const size_t b = r / s->q_len / s->heads, h = r / s->q_len % s->heads, i = r % s->q_len;
        const size_t at = b * p->desc.q.batch + h * p->desc.q.head + i * p->desc.q.row;
        if (back)
            memcpy(p->args.out + at, self->out + r * s->dim, s->dim * sizeof(float));
        else
            memcpy(self->queries + r * s->dim, p->args.q + at, s->dim * sizeof(float));
    }
}

// ALiBi in causal order: the last key is the query's own.
static void add_slope(float *scores, size_t count, float slope)
{
    const int32_t last = (int32_t)count - 1;
    for (int32_t n = 0; n <= last; n++)
        scores[n] -= slope * (float)(last - n);
}

// Sets what rows of a block do not see to -inf, and adds the biases.
static void hide(const struct composite *self, const struct composite_block *block, float *scores)
{
    const struct attention_problem *const p = self->problem;
    const size_t rows = self->cut.batch * self->cut.heads * block->rows;
    const float *const hidden = self->hidden ? self->hidden + block->key : NULL;
    for (size_t r = 0; r < rows; r++, scores += block->keys) {
        const size_t i = (block->row + r % block->rows) % p->shape->q_len;
        const struct attention_keys keys = attention_problem_keys(p, i); // all within the block
        const size_t first = keys.first - block->key, end = keys.end - block->key;
        for (size_t j = 0; j < first; j++)
            scores[j] = -INFINITY;
        for (size_t j = end; j < block->keys; j++)
            scores[j] = -INFINITY;
        if (p->args.slopes)
            add_slope(scores + first, end - first, p->args.slopes[0]); // all heads have the same
        for (size_t j = first; j < end && hidden; j++)
            scores[j] += hidden[j];
    }
}

struct call {
    const struct composite *self;
    const float *k, *v;
};

// A task: all blocks of one head (or of all of them) of one of the query heads that share keys.
static void walk(void *arg, uint32_t task, uint32_t worker)
{
    const struct call *const call = arg;
    const struct composite *const self = call->self;
    const struct composite_cut *const cut = &self->cut;
    const struct attention_shape *const s = self->problem->shape;
    const size_t member = task % self->members, head = task / self->members % s->kv_heads;
    const size_t entry = task / self->members / s->kv_heads; // a product of all heads has as many tasks as members
    const float *const queries = self->queries ? self->queries : self->problem->args.q;
    float *const out = self->queries ? self->out : self->problem->args.out;
    const size_t row = entry * cut->q.batch + head * cut->q.head + member * s->dim;
    for (size_t i = 0; i < cut->block_count; i++) {
        const struct composite_block *const block = &cut->blocks[i];
        const struct composite_place place = {
            .q = queries + row + block->row * cut->q.row,
            .k = call->k + entry * cut->k.batch + head * cut->k.head + block->key * cut->k.row,
            .v = call->v + entry * cut->v.batch + head * cut->v.head + block->key * cut->v.row,
            .out = out + row + block->row * cut->q.row,
            .scores = self->scores + worker * self->scores_floats,
        };
        self->maker->scores(self->made, i, &place);
        hide(self, block, place.scores);
        self->maker->values(self->made, i, &place);
    }
}

static void run(void *prepared, size_t index)
{
    const struct composite *const self = prepared;
    const struct attention_problem *const p = self->problem;
    const struct attention_shape *const s = p->shape;
    const float *const k = (self->rows ? self->rows : p->memory) + index * p->cache_floats;
    struct call call = {self, k, k + p->v_offset};
    const uint32_t tasks = (uint32_t)(s->batch * s->kv_heads / (self->cut.batch * self->cut.heads) * self->members);
    if (self->queries)
        gather(self, false);
    if (self->workers > 1)
        p->executor->parallel_for(p->executor->state, tasks, walk, &call);
    else
        for (uint32_t i = 0; i < tasks; i++)
            walk(&call, i, 0);
    if (self->queries)
        gather(self, true);
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    const struct attention_problem *const p = problem;
    struct composite *const self = packed || !(p->kind & KINDS) ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->maker = state;
    self->problem = p;
    self->run = run;
    self->workers = p->executor && !self->maker->whole ? p->executor->workers : 1;
    if (!composite_make(self)) {
        release(self);
        return NULL;
    }
    return self;
}

static size_t work_bytes(const void *prepared)
{
    const struct composite *const self = prepared;
    return self->scores_floats * self->workers * sizeof(float) + self->gathered_bytes;
}

struct contestant composite_contestant(const struct composite_maker *maker)
{
    return (struct contestant){
        .state = maker, .prepare = prepare, .run = run, .release = release, .work_bytes = work_bytes};
}
