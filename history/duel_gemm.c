// SPDX-License-Identifier: Apache-2.0
// history/duel_gemm.c - a product: m, n, k, with B packed or as it lies.
#include "history/duel_kinds.h"

#include <stdlib.h>

struct gemm {
    struct duel_state state;
    const struct library *library;
    struct fovea_gemm_args args;
    void *plan, *shared, *scratch, *blob;
};

static bool run(struct duel_state *state)
{
    struct gemm *const self = (struct gemm *)state;
    return self->library->gemm(self->plan, &self->args, self->shared, self->scratch, NULL) == FOVEA_OK;
}

static void release(struct duel_state *state)
{
    struct gemm *const self = (struct gemm *)state;
    free(self->plan);
    free(self->shared);
    free(self->scratch);
    free(self->blob);
    free(self);
}

static bool pack(struct gemm *self, const struct duel_case *with)
{
    const struct library *const library = self->library;
    const size_t n = with->size[1], k = with->size[2];
    size_t bytes;
    if (!library->pack_size || !library->pack || library->pack_size(k, n, &bytes) != FOVEA_OK)
        return false;
    self->blob = duel_alloc(bytes);
    if (!self->blob)
        return false;
    const float *const b = self->args.b;
    self->args.b = self->blob;
    return library->pack(library->engine, with->flags & DUEL_TRANS ? FOVEA_TRANS : FOVEA_NO_TRANS, k, n, b,
                         with->flags & DUEL_TRANS ? k : n, self->blob, bytes) == FOVEA_OK;
}

static bool plan(struct gemm *self, const struct duel_case *with)
{
    const struct library *const library = self->library;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = with->size[0], desc.n = with->size[1], desc.k = with->size[2];
    desc.b_packed = (with->flags & DUEL_PACKED) != 0;
    desc.trans_b = with->flags & DUEL_TRANS && !desc.b_packed ? FOVEA_TRANS : FOVEA_NO_TRANS;
    desc.lda = desc.k;
    desc.ldb = with->flags & DUEL_TRANS ? desc.k : desc.n;
    desc.ldc = desc.n;
    desc.activation = with->flags & DUEL_GELU ? FOVEA_ACTIVATION_GELU : FOVEA_ACTIVATION_NONE;
    self->plan = duel_alloc(library->gemm_plan_size());
    if (!self->plan || library->gemm_plan(library->engine, &desc, self->plan) != FOVEA_OK)
        return false;
    const struct fovea_work *const work = self->plan;
    self->shared = duel_alloc(work->shared_bytes);
    self->scratch = duel_alloc(work->scratch_bytes);
    return self->shared && self->scratch && (!desc.b_packed || pack(self, with));
}

struct duel_state *duel_gemm(const struct duel_case *with, const struct library *library,
                             const struct duel_operands *operands)
{
    const size_t m = with->size[0], n = with->size[1], k = with->size[2];
    struct gemm *const self =
        library->gemm && library->gemm_plan && library->gemm_plan_size ? calloc(1, sizeof *self) : NULL;
    if (!self)
        return NULL;
    self->state = (struct duel_state){run, release};
    self->library = library;
    self->args = (struct fovea_gemm_args){.a = operands->in,
                                          .b = operands->in + m * k,
                                          .c = operands->out,
                                          .bias = with->flags & DUEL_GELU ? operands->in + m * k + n * k : NULL,
                                          .m = m};
    if (plan(self, with))
        return &self->state;
    release(&self->state);
    return NULL;
}
