// SPDX-License-Identifier: Apache-2.0
// bench/fovea_attention.c - fovea's attention as a contestant.
#include "bench/attention_problem.h"
#include "bench/fovea.h"

#include <stdlib.h>

struct prepared {
    const struct attention_problem *problem;
    const struct fovea_executor *executor;
    struct bench_work work;
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    bench_work_free(&self->work);
    free(self);
}

static struct fovea_attention_args args_of(const struct attention_problem *p, size_t index)
{
    struct fovea_attention_args args = p->args;
    const size_t k = index * p->cache_floats, v = k + p->v_offset;
    args.k = p->halves ? (const void *)(p->halves + k) : p->memory + k;
    args.v = p->halves ? (const void *)(p->halves + v) : p->memory + v;
    return args;
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    const struct bench_fovea *const with = state;
    const struct attention_problem *const p = problem;
    struct prepared *const self = packed ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = p;
    self->executor = with->executor;
    const struct fovea_attention_args args = args_of(p, 0);
    if (!bench_work_plan(&self->work, fovea_attention_plan_size()) ||
        fovea_attention_plan(with->engine, &p->desc, self->work.plan) != FOVEA_OK ||
        fovea_explain_attention_call(self->work.plan, &args, NULL, 0) != FOVEA_OK || // or nothing would be timed
        !bench_work_make(&self->work, self->executor)) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    const struct prepared *const self = prepared;
    const struct fovea_attention_args args = args_of(self->problem, index);
    fovea_attention(self->work.plan, &args, self->work.shared, self->work.scratch, self->executor);
}

static size_t work_bytes(const void *prepared)
{
    const struct prepared *const self = prepared;
    return self->work.shared_bytes + self->work.scratch_bytes;
}

struct contestant bench_fovea_attention(const struct bench_fovea *with)
{
    return (struct contestant){"fovea", with, prepare, run, release, work_bytes, NULL};
}
