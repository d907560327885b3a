// SPDX-License-Identifier: Apache-2.0
// bench/peer_onnxruntime_gemm.c - ONNX Runtime's MatMul and Gemm.
//
// Plain: A and B are inputs. Packed: B is a constant of the model, which the session packs when it is made. The output
// is bound to C.
#include "bench/gemm_problem.h"
#include "bench/peer_onnxruntime.h"

#include <stdlib.h>

struct prepared {
    const struct gemm_problem *problem;
    bool packed;
    void *a, *c;
    void **sessions; // one; packed: one for each matrix
    void **b;        // values, not packed
};

static void release(void *memory)
{
    struct prepared *const self = memory;
    for (size_t i = 0; i < self->problem->b_count; i++) {
        if (self->sessions && self->sessions[i])
            ort.release_session(self->sessions[i]);
        if (self->b && self->b[i])
            ort.release_value(self->b[i]);
    }
    if (self->a)
        ort.release_value(self->a);
    if (self->c)
        ort.release_value(self->c);
    free(self->sessions);
    free(self->b);
    free(self);
}

static struct onnx_node node_of(const struct gemm_problem *p, const float *constant)
{
    const bool turned = p->trans_a || p->trans_b;
    return (struct onnx_node){
        .op = turned ? "Gemm" : "MatMul",
        .input_count = 2,
        .output_count = 1,
        .attribute_count = turned ? 2 : 0,
        .inputs =
            {{.name = "a", .type = ONNX_FLOAT, .rank = 2, .dims = {p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k}},
             {.name = "b",
              .type = ONNX_FLOAT,
              .rank = 2,
              .dims = {p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n},
              .constant = constant}},
        .outputs = {{.name = "c", .type = ONNX_FLOAT, .rank = 2, .dims = {p->m, p->n}}},
        .attributes = {{.name = "transA", .whole = p->trans_a}, {.name = "transB", .whole = p->trans_b}},
    };
}

static bool make(struct prepared *self)
{
    const struct gemm_problem *const p = self->problem;
    self->sessions = calloc(p->b_count, sizeof *self->sessions);
    self->b = calloc(p->b_count, sizeof *self->b);
    if (!self->sessions || !self->b)
        return false;
    const struct onnx_node plain = node_of(p, NULL);
    self->a = peer_onnxruntime_tensor(&plain.inputs[0], p->a);
    self->c = peer_onnxruntime_tensor(&plain.outputs[0], p->c);
    if (!self->packed)
        self->sessions[0] = peer_onnxruntime_session(&plain, 1);
    bool done = self->a && self->c && (self->packed || self->sessions[0]);
    for (size_t i = 0; i < p->b_count && done; i++) {
        float *const b = p->b + i * p->b_stride;
        const struct onnx_node packed = node_of(p, b);
        if (self->packed)
            self->sessions[i] = peer_onnxruntime_session(&packed, 1);
        else
            self->b[i] = peer_onnxruntime_tensor(&plain.inputs[1], b);
        done = self->packed ? self->sessions[i] : self->b[i];
    }
    return done;
}

static void *prepare(const void *state, const void *problem, bool packed)
{
    (void)state;
    const struct gemm_problem *const p = problem;
    struct prepared *const self = p->gelu || p->batch > 1 ? NULL : calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->problem = p;
    self->packed = packed;
    if (!make(self)) {
        release(self);
        return NULL;
    }
    return self;
}

static void run(void *prepared, size_t index)
{
    static const char *const inputs[] = {"a", "b"}, *const outputs[] = {"c"};
    struct prepared *const self = prepared;
    const void *const values[] = {self->a, self->b[index]};
    void *result = self->c; // written in place
    ort.run(self->sessions[self->packed ? index : 0], NULL, inputs, values, self->packed ? 1 : 2, outputs, 1, &result);
}

struct contestant peer_onnxruntime_gemm(void)
{
    return (struct contestant){.prepare = prepare, .run = run, .release = release};
}
