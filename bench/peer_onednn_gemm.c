// SPDX-License-Identifier: Apache-2.0
// bench/peer_onednn_gemm.c - oneDNN's matmul.
//
// Plain: all three matrices as they lie. Packed: weights of any layout, which oneDNN chooses, and into which they are
// reordered beforehand.
#include "bench/gemm_problem.h"
#include "bench/memory.h"
#include "bench/peer_onednn.h"

#include <stdlib.h>

struct prepared {
    const struct gemm_problem *problem;
    void *pd, *primitive, *src, *weights, *dst;
    char *reordered; // NULL: weights as they lie
    size_t stride, bytes;
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    void *const memories[] = {self->src, self->weights, self->dst};
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (memories[i])
            dnnl.memory_destroy(memories[i]);
    if (self->primitive)
        dnnl.destroy(self->primitive);
    if (self->pd)
        dnnl.pd_destroy(self->pd);
    bench_free(self->reordered, self->bytes);
    free(self);
}

// A batch of rows x cols, or stored the other way round. Of one matrix: without the first dimension.
static bool describe(struct onednn_descriptor *md, size_t batch, size_t rows, size_t cols, bool transposed)
{
    const int64_t dims[DNNL_DIMS] = {(int64_t)batch, (int64_t)rows, (int64_t)cols};
    const int64_t strides[DNNL_DIMS] = {(int64_t)(rows * cols), transposed ? 1 : (int64_t)cols,
                                        transposed ? (int64_t)rows : 1};
    const int skip = batch == 1;
    return dnnl.by_strides(md, 3 - skip, dims + skip, DNNL_F32, strides + skip) == 0;
}

// Brings every matrix of the set into the layout the primitive wants.
static bool reorder(struct prepared *self, const struct onednn_descriptor *lies)
{
    const struct gemm_problem *const p = self->problem;
    const void *const wanted = dnnl.pd_md(self->pd, DNNL_WEIGHTS_MD, 0);
    void *pd = NULL, *primitive = NULL, *from = NULL, *to = NULL;
    self->stride = (dnnl.md_size(wanted) + 63) / 64 * 64;
    self->bytes = self->stride * p->b_count;
    self->reordered = bench_alloc(self->bytes);
    bool done = self->reordered && dnnl.reorder_pd(&pd, lies, dnnl.engine, wanted, dnnl.engine, NULL) == 0 &&
                dnnl.create(&primitive, pd) == 0 && dnnl.memory_create(&from, lies, dnnl.engine, p->b) == 0 &&
                dnnl.memory_create(&to, wanted, dnnl.engine, self->reordered) == 0;
    for (size_t i = 0; i < p->b_count && done; i++) {
        const struct onednn_argument arguments[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
        done = dnnl.memory_set(from, p->b + i * p->b_stride) == 0 &&
               dnnl.memory_set(to, self->reordered + i * self->stride) == 0 &&
               dnnl.execute(primitive, dnnl.stream, 2, arguments) == 0 && dnnl.stream_wait(dnnl.stream) == 0;
    }
    if (from)
        dnnl.memory_destroy(from);
    if (to)
        dnnl.memory_destroy(to);
    if (primitive)
        dnnl.destroy(primitive);
    if (pd)
        dnnl.pd_destroy(pd);
    return done;
}

static bool make(struct prepared *self, bool packed)
{
    const struct gemm_problem *const p = self->problem;
    const int64_t dims[DNNL_DIMS] = {(int64_t)p->k, (int64_t)p->n};
    struct onednn_descriptor src, lies, any, dst, op;
    if (!describe(&src, p->batch, p->m, p->k, p->trans_a) || !describe(&lies, p->batch, p->k, p->n, p->trans_b) ||
        !describe(&dst, p->batch, p->m, p->n, false) || dnnl.by_tag(&any, 2, dims, DNNL_F32, DNNL_TAG_ANY) != 0)
        return false;
    return dnnl.matmul_init(&op, &src, packed ? &any : &lies, NULL, &dst) == 0 &&
           dnnl.pd_create(&self->pd, &op, NULL, dnnl.engine, NULL) == 0 &&
           dnnl.create(&self->primitive, self->pd) == 0 && (!packed || reorder(self, &lies)) &&
           dnnl.memory_create(&self->src, &src, dnnl.engine, p->a) == 0 &&
           dnnl.memory_create(&self->weights, packed ? dnnl.pd_md(self->pd, DNNL_WEIGHTS_MD, 0) : &lies, dnnl.engine,
                              packed ? self->reordered : (void *)p->b) == 0 &&
           dnnl.memory_create(&self->dst, &dst, dnnl.engine, p->c) == 0;
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    (void)state;
    const struct gemm_problem *const p = problem;
    struct prepared *const self = p->gelu || (packed && p->batch > 1) ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = p;
    if (!make(self, packed)) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    const struct prepared *const self = prepared;
    const struct gemm_problem *const p = self->problem;
    const struct onednn_argument arguments[] = {
        {DNNL_ARG_SRC, self->src}, {DNNL_ARG_WEIGHTS, self->weights}, {DNNL_ARG_DST, self->dst}};
    dnnl.memory_set(self->weights,
                    self->reordered ? self->reordered + index * self->stride : (void *)(p->b + index * p->b_stride));
    dnnl.execute(self->primitive, dnnl.stream, 3, arguments);
    dnnl.stream_wait(dnnl.stream);
}

struct contestant peer_onednn_gemm(void)
{
    return (struct contestant){.prepare = prepare, .run = run, .release = release};
}
