// SPDX-License-Identifier: Apache-2.0
// history/duel_rowwise.c - an operator on the rows of a matrix.
#include "history/duel_kinds.h"

#include <stdlib.h>

struct rowwise {
    struct duel_state state;
    const struct library *library;
    struct fovea_rowwise_args args;
    void *plan;
};

static bool run(struct duel_state *state)
{
    struct rowwise *const self = (struct rowwise *)state;
    return self->library->rowwise(self->plan, &self->args, NULL, NULL, NULL) == FOVEA_OK;
}

static void release(struct duel_state *state)
{
    struct rowwise *const self = (struct rowwise *)state;
    free(self->plan);
    free(self);
}

struct duel_state *duel_rowwise(const struct duel_case *with, const struct library *library,
                                const struct duel_operands *operands)
{
    const bool there = library->rowwise && library->rowwise_plan && library->rowwise_plan_size;
    struct rowwise *const self = there ? calloc(1, sizeof *self) : NULL;
    if (!self)
        return NULL;
    const size_t rows = with->size[0], cols = with->size[1];
    struct fovea_rowwise_desc desc = FOVEA_ROWWISE_DESC_INIT;
    desc.op = (enum fovea_rowwise_op)with->flags;
    desc.rows = rows;
    desc.cols = desc.ldx = desc.ldx2 = desc.ldy = cols;
    self->state = (struct duel_state){run, release};
    self->library = library;
    self->args = (struct fovea_rowwise_args){
        .x = operands->in, .x2 = operands->in + rows * cols, .y = operands->out, .rows = rows};
    if (desc.op == FOVEA_ROWWISE_LAYERNORM || desc.op == FOVEA_ROWWISE_RMSNORM)
        self->args.gamma = self->args.beta = operands->in;
    self->plan = duel_alloc(library->rowwise_plan_size());
    if (self->plan && library->rowwise_plan(library->engine, &desc, self->plan) == FOVEA_OK)
        return &self->state;
    release(&self->state);
    return NULL;
}
