// SPDX-License-Identifier: Apache-2.0
// bench/peer_cblas_attention.c - attention over CBLAS: two products for each head and block, between them our softmax.
//
// A BLAS has no softmax; fovea's is vectorised and in place, so the composite is not held back by it.
#include "bench/peer_cblas.h"

#include "fovea/rowwise.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

struct prepared {
    const struct peer_cblas *cblas;
    const struct composite_cut *cut;
    char *plans; // a softmax for each block
    size_t plan_bytes;
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    free(self->plans);
    free(self);
}

static bool make_plans(struct prepared *self)
{
    enum { LINE = 64 };
    const struct composite_cut *const cut = self->cut;
    self->plan_bytes = (fovea_rowwise_plan_size() + LINE - 1) / LINE * LINE;
    self->plans = aligned_alloc(LINE, self->plan_bytes * cut->block_count);
    for (size_t i = 0; i < cut->block_count && self->plans; i++) {
        struct fovea_rowwise_desc desc = FOVEA_ROWWISE_DESC_INIT;
        desc.rows = cut->blocks[i].rows;
        desc.cols = desc.ldx = desc.ldy = cut->blocks[i].keys;
        if (fovea_rowwise_plan(self->cblas->engine, &desc, self->plans + i * self->plan_bytes) != FOVEA_OK)
            return false;
    }
    return self->plans;
}

static void *prepare(const void *state, const struct composite_cut *cut)
{
    const struct fovea_attention_desc *const d = &cut->problem->desc;
    if (cut->batch * cut->heads > 1 || d->kv_len > INT_MAX || d->q.row > INT_MAX || d->v.row > INT_MAX)
        return NULL;
    struct prepared *const self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->cblas = state;
    self->cut = cut;
    if (!make_plans(self)) {
        release(self);
        return NULL;
    }
    return self;
}

static void scores(const void *prepared, size_t i, const struct composite_place *place)
{
    const struct prepared *const self = prepared;
    const struct composite_cut *const cut = self->cut;
    const int rows = (int)cut->blocks[i].rows, keys = (int)cut->blocks[i].keys, d = (int)cut->problem->shape->dim;
    const float scale = 1 / sqrtf((float)d);
    if (rows == 1)
        self->cblas->sgemv(CBLAS_ROW_MAJOR, CBLAS_NO_TRANS, keys, d, scale, place->k, (int)cut->k.row, place->q, 1, 0,
                           place->scores, 1);
    else
        self->cblas->sgemm(CBLAS_ROW_MAJOR, CBLAS_NO_TRANS, CBLAS_TRANS, rows, keys, d, scale, place->q,
                           (int)cut->q.row, place->k, (int)cut->k.row, 0, place->scores, keys);
}

static void values(const void *prepared, size_t i, const struct composite_place *place)
{
    const struct prepared *const self = prepared;
    const struct composite_cut *const cut = self->cut;
    const int rows = (int)cut->blocks[i].rows, keys = (int)cut->blocks[i].keys, d = (int)cut->problem->shape->dim;
    const struct fovea_rowwise_args softmax = {.x = place->scores, .y = place->scores, .rows = cut->blocks[i].rows};
    fovea_rowwise(self->plans + i * self->plan_bytes, &softmax, NULL, NULL, NULL);
    if (rows == 1)
        self->cblas->sgemv(CBLAS_ROW_MAJOR, CBLAS_TRANS, keys, d, 1, place->v, (int)cut->v.row, place->scores, 1, 0,
                           place->out, 1);
    else
        self->cblas->sgemm(CBLAS_ROW_MAJOR, CBLAS_NO_TRANS, CBLAS_NO_TRANS, rows, d, keys, 1, place->scores, keys,
                           place->v, (int)cut->v.row, 0, place->out, (int)cut->q.row);
}

struct contestant peer_cblas_attention(struct peer_cblas *cblas)
{
    cblas->maker = (struct composite_maker){
        .state = cblas, .prepare = prepare, .scores = scores, .values = values, .release = release};
    return composite_contestant(&cblas->maker);
}
