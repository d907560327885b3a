// SPDX-License-Identifier: Apache-2.0
// bench/fovea_gemm.c - fovea's products as a contestant.
#include "bench/fovea.h"
#include "bench/gemm_problem.h"
#include "bench/memory.h"

#include <stdlib.h>
#include <string.h>

struct prepared {
    const struct gemm_problem *problem;
    const struct fovea_executor *executor;
    bool packed;
    const float *bias;
    struct bench_work work;
    char *blobs;
    size_t blob_bytes, blobs_bytes, copies, calls;
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    bench_work_free(&self->work);
    bench_free(self->blobs, self->blobs_bytes);
    free(self);
}

// x, a multiple of 1/64 below 2, as an element of 16 bits.
static uint16_t narrow(enum fovea_type type, float x)
{
    enum { EXTRA = 13, BIAS = 112 << 10 }; // bits of the fraction, and of the exponent, that binary16 has not
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    return (uint16_t)(type == FOVEA_BF16 ? bits >> 16 : magnitude == 0 ? sign : sign | ((magnitude >> EXTRA) - BIAS));
}

// Packs B number i, whose 16-bit elements are made in `halves`.
static bool pack_one(const struct prepared *self, const struct fovea_engine *engine, size_t i, uint16_t *halves)
{
    const struct gemm_problem *const p = self->problem;
    const enum fovea_transpose trans = p->trans_b ? FOVEA_TRANS : FOVEA_NO_TRANS;
    const float *const b = p->b + i * p->b_stride;
    const size_t ldb = p->trans_b ? p->k : p->n;
    char *const blob = self->blobs + i * self->blob_bytes;
    if (p->type == FOVEA_S8)
        return fovea_pack_s8(engine, FOVEA_F32, trans, p->k, p->n, b, ldb, blob, self->blob_bytes) == FOVEA_OK;
    for (size_t at = 0; at < p->k * p->n && p->type != FOVEA_F32; at++)
        halves[at] = narrow(p->type, b[at]);
    const void *const source = p->type == FOVEA_F32 ? (const void *)b : halves;
    return fovea_pack_typed(engine, p->type, trans, p->k, p->n, source, ldb, blob, self->blob_bytes) == FOVEA_OK;
}

// Blobs of smaller elements are there more often, so that they are as many bytes as B is, and no more of them stay in
// a cache.
static bool pack(struct prepared *self, const struct fovea_engine *engine)
{
    const struct gemm_problem *const p = self->problem;
    size_t bytes = 0;
    if (fovea_pack_size_typed(p->type, p->k, p->n, &bytes) != FOVEA_OK)
        return false;
    uint16_t *const halves = malloc((p->k * p->n + 1) * sizeof *halves);
    self->copies = p->b_count > 1 ? sizeof(float) / fovea_type_bytes(p->type) : 1;
    self->blob_bytes = (bytes + 63) / 64 * 64;
    const size_t once = self->blob_bytes * p->b_count;
    self->blobs_bytes = once * self->copies;
    self->blobs = bench_alloc(self->blobs_bytes);
    bool done = self->blobs != NULL && halves != NULL;
    for (size_t i = 0; i < p->b_count && done; i++)
        done = pack_one(self, engine, i, halves);
    for (size_t i = 1; i < self->copies && done; i++)
        memcpy(self->blobs + i * once, self->blobs, once);
    free(halves);
    return done;
}

static bool make_plan(struct prepared *self, const struct fovea_engine *engine)
{
    const struct gemm_problem *const p = self->problem;
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.trans_a = p->trans_a ? FOVEA_TRANS : FOVEA_NO_TRANS;
    desc.trans_b = p->trans_b && !self->packed ? FOVEA_TRANS : FOVEA_NO_TRANS;
    desc.b_packed = self->packed;
    desc.b_type = p->type;
    desc.m = p->m, desc.n = p->n, desc.k = p->k;
    desc.lda = p->trans_a ? p->m : p->k;
    desc.ldb = p->trans_b ? p->k : p->n;
    desc.ldc = p->n;
    desc.batch = p->batch;
    desc.batch_a = p->m * p->k, desc.batch_b = p->k * p->n, desc.batch_c = p->m * p->n;
    desc.activation = p->gelu ? FOVEA_ACTIVATION_GELU : FOVEA_ACTIVATION_NONE;
    return bench_work_plan(&self->work, fovea_gemm_plan_size()) &&
           fovea_gemm_plan(engine, &desc, self->work.plan) == FOVEA_OK && bench_work_make(&self->work, self->executor);
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    const struct bench_fovea *const with = state;
    const struct gemm_problem *const p = problem;
    struct prepared *const self = packed && p->batch > 1 ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = p;
    self->executor = with->executor;
    self->packed = packed;
    self->bias = p->gelu ? p->bias : NULL;
    if (!make_plan(self, with->engine) || (packed && !pack(self, with->engine))) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    struct prepared *const self = prepared;
    const struct gemm_problem *const p = self->problem;
    const float *const b = p->b + index * p->b_stride;
    const size_t copy = self->packed ? self->calls++ / p->b_count % self->copies : 0;
    const struct fovea_gemm_args args = {
        .a = p->a,
        .b = self->packed ? self->blobs + (copy * p->b_count + index) * self->blob_bytes : (const void *)b,
        .c = p->c,
        .bias = self->bias,
        .m = p->m,
    };
    fovea_gemm(self->work.plan, &args, self->work.shared, self->work.scratch, self->executor);
}

static size_t work_bytes(const void *prepared)
{
    const struct prepared *const self = prepared;
    return self->work.shared_bytes + self->work.scratch_bytes;
}

struct contestant bench_fovea_gemm(const struct bench_fovea *with)
{
    return (struct contestant){"fovea", with, prepare, run, release, work_bytes, NULL};
}
