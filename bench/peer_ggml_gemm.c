// SPDX-License-Identifier: Apache-2.0
// bench/peer_ggml_gemm.c - ggml's mul_mat.
//
// Its weights are n x k. Plain: as B lies. Packed: beforehand transposed, or converted to the type of the line (8 bits:
// its Q8_0, groups of 32 with a scale of 16 bits). Where weights are no f32 it rounds A to a type like theirs, and is
// allowed as much error more.
#include "bench/gemm_problem.h"
#include "bench/memory.h"
#include "bench/peer_ggml.h"

#include <stdlib.h>

enum { NODES = 4 };

// What it computes with, and the unit to which it rounds A.
static const struct {
    enum ggml_type type;
    size_t group;
    double unit;
} forms[] = {
    [FOVEA_F32] = {GGML_F32, 1, 0},
    [FOVEA_BF16] = {GGML_BF16, 1, 0x1p-9},
    [FOVEA_F16] = {GGML_F16, 1, 0x1p-11},
    [FOVEA_S8] = {GGML_Q8_0, 32, 0x1p-7},
};

struct prepared {
    const struct gemm_problem *problem;
    enum fovea_type type;
    void *context, **graphs;
    void *operands, *copies; // buffers over memory of others; copies: NULL, or over `weights`
    char *weights;
    size_t stride, bytes, sets, calls;
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    if (self->context)
        ggml.free(self->context);
    if (self->operands)
        ggml.buffer_free(self->operands);
    if (self->copies)
        ggml.buffer_free(self->copies);
    bench_free(self->weights, self->bytes);
    free(self->graphs);
    free(self);
}

static void turn(const struct gemm_problem *p, const float *b, float *turned)
{
    for (size_t j = 0; j < p->n; j++)
        for (size_t l = 0; l < p->k; l++)
            turned[j * p->k + l] = b[l * p->n + j];
}

// Weights of fewer bits are there more often, so that they are as many bytes as B is.
static bool convert(struct prepared *self)
{
    const struct gemm_problem *const p = self->problem;
    const size_t row = ggml.row_size(forms[self->type].type, (int64_t)p->k);
    self->stride = (p->n * row + 63) / 64 * 64;
    self->sets = p->b_count > 1 ? p->k * sizeof(float) / row : 1;
    self->bytes = self->sets * p->b_count * self->stride;
    self->weights = bench_alloc(self->bytes);
    self->copies = self->weights ? ggml.buffer(self->weights, self->bytes) : NULL;
    for (size_t i = 0; i < self->sets * p->b_count && self->copies; i++) {
        const float *const b = p->b + i % p->b_count * p->b_stride;
        void *const to = self->weights + i * self->stride;
        if (p->trans_b)
            ggml.quantize(forms[self->type].type, b, to, 0, (int64_t)p->n, (int64_t)p->k, NULL);
        else
            turn(p, b, to);
    }
    return self->copies;
}

static void *placed(const struct prepared *self, enum ggml_type type, size_t rows, void *buffer, void *at)
{
    const struct gemm_problem *const p = self->problem;
    void *const tensor =
        ggml.tensor(self->context, type, 3, (const int64_t[]){(int64_t)p->k, (int64_t)rows, (int64_t)p->batch});
    return tensor && ggml.place(buffer, tensor, at) == 0 ? tensor : NULL;
}

// A graph for each matrix of the set.
static bool make(struct prepared *self)
{
    const struct gemm_problem *const p = self->problem;
    const size_t count = self->sets * p->b_count;
    const struct ggml_room room = {
        .bytes = (count + 1) * (3 * ggml.tensor_overhead() + ggml.graph_overhead(NODES, false)), .no_data = true};
    self->graphs = calloc(count, sizeof *self->graphs);
    self->context = self->graphs ? ggml.init(room) : NULL;
    self->operands = self->context ? ggml.buffer(p->memory, p->memory_bytes) : NULL;
    void *const a = self->operands ? placed(self, GGML_F32, p->m, self->operands, p->a) : NULL;
    bool done = a;
    for (size_t i = 0; i < count && done; i++) {
        void *const b = self->copies
                            ? placed(self, forms[self->type].type, p->n, self->copies, self->weights + i * self->stride)
                            : placed(self, GGML_F32, p->n, self->operands, p->b + i * p->b_stride);
        void *const c = b ? ggml.mul_mat(self->context, b, a) : NULL;
        self->graphs[i] = ggml.graph(self->context, NODES, false);
        done = c && self->graphs[i] && ggml.place(self->operands, c, p->c) == 0;
        if (done)
            ggml.expand(self->graphs[i], c);
    }
    return done;
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    (void)state;
    const struct gemm_problem *const p = problem;
    const bool as_it_lies = p->trans_b && (!packed || p->type == FOVEA_F32);
    if (p->gelu || p->trans_a || packed == as_it_lies || p->k % forms[packed ? p->type : FOVEA_F32].group != 0 ||
        (packed && p->batch > 1))
        return NULL;
    struct prepared *const self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = p;
    self->type = packed ? p->type : FOVEA_F32;
    self->sets = 1;
    if ((packed && !convert(self)) || !make(self)) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    struct prepared *const self = prepared;
    const size_t count = self->problem->b_count;
    ggml.compute(ggml.backend, self->graphs[self->calls++ / count % self->sets * count + index]);
}

static double coarse(const void *prepared)
{
    const struct prepared *const self = prepared;
    return 1 + forms[self->type].unit / (0x1p-24 * (double)(self->problem->k + 1));
}

struct contestant peer_ggml_gemm(void)
{
    return (struct contestant){.prepare = prepare, .run = run, .release = release, .coarse = coarse};
}
