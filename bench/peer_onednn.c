// SPDX-License-Identifier: Apache-2.0
// bench/peer_onednn.c - oneDNN's matmul (the C interface of 2.x, written for 2.6.3; 3.x has another).
//
// Plain: all three matrices as they lie. Packed: weights of any layout, which oneDNN chooses, and into which they are
// reordered beforehand. Threads are OpenMP's.
#include "bench/memory.h"
#include "bench/peer.h"

#include <stdlib.h>

// What the C interface of 2.x is made of. Descriptors are structs, used here as memory of more than their size.
enum {
    DNNL_CPU = 1,          // dnnl_cpu
    DNNL_IN_ORDER = 1,     // dnnl_stream_in_order
    DNNL_F32 = 3,          // dnnl_f32
    DNNL_TAG_ANY = 1,      // dnnl_format_tag_any
    DNNL_WEIGHTS_MD = 131, // dnnl_query_weights_md
    DNNL_ARG_SRC = 1,      // also DNNL_ARG_FROM
    DNNL_ARG_DST = 17,     // also DNNL_ARG_TO
    DNNL_ARG_WEIGHTS = 33,
    DNNL_DIMS = 12, // of dnnl_dims_t
};
struct descriptor {
    _Alignas(16) char bytes[4096]; // dnnl_memory_desc_t has 696 bytes in 2.6, dnnl_matmul_desc_t 2800
};
struct argument { // dnnl_exec_arg_t
    int arg;
    void *memory;
};
struct version { // dnnl_version_t begins with these
    int major, minor, patch;
};

static struct {
    const struct version *(*version)(void);
    int (*engine_create)(void **engine, int kind, size_t index);
    int (*stream_create)(void **stream, void *engine, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*by_strides)(struct descriptor *md, int ndims, const int64_t *dims, int type, const int64_t *strides);
    int (*by_tag)(struct descriptor *md, int ndims, const int64_t *dims, int type, int tag);
    size_t (*md_size)(const void *md);
    int (*matmul_init)(struct descriptor *op, const struct descriptor *src, const struct descriptor *weights,
                       const struct descriptor *bias, const struct descriptor *dst);
    int (*pd_create)(void **pd, const struct descriptor *op, const void *attr, void *engine, const void *hint);
    const void *(*pd_md)(const void *pd, int what, int index);
    int (*pd_destroy)(void *pd);
    int (*reorder_pd)(void **pd, const void *from, void *from_engine, const void *to, void *to_engine,
                      const void *attr);
    int (*create)(void **primitive, const void *pd);
    int (*execute)(const void *primitive, void *stream, int count, const struct argument *arguments);
    int (*destroy)(void *primitive);
    int (*memory_create)(void **memory, const void *md, void *engine, void *data);
    int (*memory_set)(void *memory, void *data);
    int (*memory_destroy)(void *memory);
    void (*set_threads)(int threads);
    void *engine, *stream;
} dnnl;

static bool find_symbols(void *library)
{
    const struct peer_symbol symbols[] = {{"dnnl_version", &dnnl.version},
                                          {"dnnl_engine_create", &dnnl.engine_create},
                                          {"dnnl_stream_create", &dnnl.stream_create},
                                          {"dnnl_stream_wait", &dnnl.stream_wait},
                                          {"dnnl_memory_desc_init_by_strides", &dnnl.by_strides},
                                          {"dnnl_memory_desc_init_by_tag", &dnnl.by_tag},
                                          {"dnnl_memory_desc_get_size", &dnnl.md_size},
                                          {"dnnl_matmul_desc_init", &dnnl.matmul_init},
                                          {"dnnl_primitive_desc_create", &dnnl.pd_create},
                                          {"dnnl_primitive_desc_query_md", &dnnl.pd_md},
                                          {"dnnl_primitive_desc_destroy", &dnnl.pd_destroy},
                                          {"dnnl_reorder_primitive_desc_create", &dnnl.reorder_pd},
                                          {"dnnl_primitive_create", &dnnl.create},
                                          {"dnnl_primitive_execute", &dnnl.execute},
                                          {"dnnl_primitive_destroy", &dnnl.destroy},
                                          {"dnnl_memory_create", &dnnl.memory_create},
                                          {"dnnl_memory_set_data_handle", &dnnl.memory_set},
                                          {"dnnl_memory_destroy", &dnnl.memory_destroy},
                                          {"omp_set_num_threads", &dnnl.set_threads}};
    return peer_symbols(library, symbols, sizeof symbols / sizeof *symbols);
}

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
static bool describe(struct descriptor *md, size_t batch, size_t rows, size_t cols, bool transposed)
{
    const int64_t dims[DNNL_DIMS] = {(int64_t)batch, (int64_t)rows, (int64_t)cols};
    const int64_t strides[DNNL_DIMS] = {(int64_t)(rows * cols), transposed ? 1 : (int64_t)cols,
                                        transposed ? (int64_t)rows : 1};
    const int skip = batch == 1;
    return dnnl.by_strides(md, 3 - skip, dims + skip, DNNL_F32, strides + skip) == 0;
}

// Brings every matrix of the set into the layout the primitive wants.
static bool reorder(struct prepared *self, const struct descriptor *lies)
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
        const struct argument arguments[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
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
    struct descriptor src, lies, any, dst, op;
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

static void *prepare(const void *state, const struct gemm_problem *problem, bool packed)
{
    (void)state;
    struct prepared *const self = problem->gelu || (packed && problem->batch > 1) ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = problem;
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
    const struct argument arguments[] = {
        {DNNL_ARG_SRC, self->src}, {DNNL_ARG_WEIGHTS, self->weights}, {DNNL_ARG_DST, self->dst}};
    dnnl.memory_set(self->weights,
                    self->reordered ? self->reordered + index * self->stride : (void *)(p->b + index * p->b_stride));
    dnnl.execute(self->primitive, dnnl.stream, 3, arguments);
    dnnl.stream_wait(dnnl.stream);
}

size_t peer_onednn(const struct peer_request *request, struct contestant *out, const char **why)
{
    static const struct peer_isa limits[] = {{"avx2", "AVX2"}, {"avx512", "ALL"}, {"neon", "ALL"}};
    const char *const limit = peer_isa_name(limits, sizeof limits / sizeof *limits, request->isa);
    if (!request->widest && !limit) {
        *why = "cannot be held to this ISA";
        return 0;
    }
    char threads[16];
    snprintf(threads, sizeof threads, "%u", request->threads);
    setenv("OMP_NUM_THREADS", threads, 1); // read when the OpenMP runtime is loaded
    if (!request->widest)
        setenv("DNNL_MAX_CPU_ISA", limit, 1); // read at its first call
    void *const library = peer_open("libdnnl.so.2", NULL);
    if (!library)
        return 0;
    if (!find_symbols(library) || dnnl.engine_create(&dnnl.engine, DNNL_CPU, 0) != 0 ||
        dnnl.stream_create(&dnnl.stream, dnnl.engine, DNNL_IN_ORDER) != 0) {
        *why = "this build lacks functions that are needed, or OpenMP";
        return 0;
    }
    dnnl.set_threads((int)request->threads);
    const struct version *const version = dnnl.version();
    *out = (struct contestant){.prepare = prepare, .run = run, .release = release};
    snprintf(out->name, sizeof out->name, "oneDNN %d.%d.%d%s%s", version->major, version->minor, version->patch,
             request->widest ? "" : ", forced to ", request->widest ? "" : limit);
    return 1;
}
