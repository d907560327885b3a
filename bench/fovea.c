// SPDX-License-Identifier: Apache-2.0
// bench/fovea.c - fovea as a contestant: plan, memory and blobs made once, runs without allocation.
#include "bench/contestant.h"
#include "bench/memory.h"

#include <stdlib.h>

struct prepared {
    const struct gemm_problem *problem;
    const struct fovea_executor *executor;
    bool packed;
    const float *bias;
    void *plan, *shared, *scratch;
    char *blobs;
    size_t plan_bytes, shared_bytes, scratch_bytes, blob_bytes, blobs_bytes;
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    bench_free(self->plan, self->plan_bytes);
    bench_free(self->shared, self->shared_bytes);
    bench_free(self->scratch, self->scratch_bytes);
    bench_free(self->blobs, self->blobs_bytes);
    free(self);
}

static bool pack(struct prepared *self, const struct fovea_engine *engine)
{
    const struct gemm_problem *const p = self->problem;
    size_t bytes = 0;
    if (fovea_pack_size(p->k, p->n, &bytes) != FOVEA_OK)
        return false;
    self->blob_bytes = (bytes + 63) / 64 * 64;
    self->blobs_bytes = self->blob_bytes * p->b_count;
    self->blobs = bench_alloc(self->blobs_bytes);
    bool done = self->blobs != NULL;
    for (size_t i = 0; i < p->b_count && done; i++)
        done = fovea_pack(engine, p->trans_b ? FOVEA_TRANS : FOVEA_NO_TRANS, p->k, p->n, p->b + i * p->b_stride,
                          p->trans_b ? p->k : p->n, self->blobs + i * self->blob_bytes, self->blob_bytes) == FOVEA_OK;
    return done;
}

static bool make_plan(struct prepared *self, const struct fovea_engine *engine)
{
    const struct gemm_problem *const p = self->problem;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.trans_a = p->trans_a ? FOVEA_TRANS : FOVEA_NO_TRANS;
    desc.trans_b = p->trans_b && !self->packed ? FOVEA_TRANS : FOVEA_NO_TRANS;
    desc.b_packed = self->packed;
    desc.m = p->m, desc.n = p->n, desc.k = p->k;
    desc.lda = p->trans_a ? p->m : p->k;
    desc.ldb = p->trans_b ? p->k : p->n;
    desc.ldc = p->n;
    desc.batch = p->batch;
    desc.batch_a = p->m * p->k, desc.batch_b = p->k * p->n, desc.batch_c = p->m * p->n;
    desc.activation = p->gelu ? FOVEA_ACTIVATION_GELU : FOVEA_ACTIVATION_NONE;
    self->plan_bytes = fovea_gemm_plan_size();
    self->plan = bench_alloc(self->plan_bytes);
    if (!self->plan || fovea_gemm_plan(engine, &desc, self->plan) != FOVEA_OK)
        return false;
    const struct fovea_work *const work = self->plan;
    self->shared_bytes = work->shared_bytes;
    self->scratch_bytes = work->scratch_bytes * (self->executor ? self->executor->workers : 1);
    self->shared = bench_alloc(self->shared_bytes);
    self->scratch = bench_alloc(self->scratch_bytes);
    return self->shared && self->scratch;
}

static void *prepare(const void *state, const struct gemm_problem *problem, bool packed)
{
    const struct bench_fovea *const with = state;
    struct prepared *const self = packed && problem->batch > 1 ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = problem;
    self->executor = with->executor;
    self->packed = packed;
    self->bias = problem->gelu ? problem->bias : NULL;
    if (!make_plan(self, with->engine) || (packed && !pack(self, with->engine))) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    const struct prepared *const self = prepared;
    const struct gemm_problem *const p = self->problem;
    const float *const b = p->b + index * p->b_stride;
    const struct fovea_gemm_args args = {
        .a = p->a,
        .b = self->packed ? self->blobs + index * self->blob_bytes : (const void *)b,
        .c = p->c,
        .bias = self->bias,
        .m = p->m,
    };
    fovea_gemm(self->plan, &args, self->shared, self->scratch, self->executor);
}

struct contestant bench_fovea(const struct bench_fovea *with)
{
    return (struct contestant){"fovea", with, prepare, run, release};
}
