// SPDX-License-Identifier: Apache-2.0
// bench/peer_onnxruntime_inputs.h - what ONNX Runtime's operators of attention are given: tensors over our operands.
#ifndef FOVEA_BENCH_PEER_ONNXRUNTIME_INPUTS_H
#define FOVEA_BENCH_PEER_ONNXRUNTIME_INPUTS_H

#include "bench/attention_problem.h"
#include "bench/peer_onnxruntime.h"

/// A problem made ready. Begins as zeros but for problem and op.
struct onnxruntime_call {
    const struct attention_problem *problem;
    const struct onnxruntime_operation *op;
    struct onnx_node node;
    void *session;
    void *values[ONNX_VALUES]; ///< of inputs that are the same in every call
    void **k, **v;             ///< of each cache
    size_t k_at, v_at;         ///< which inputs these are
    void *out;
    float *rows;        ///< a copy of the caches, or NULL: in place
    float *mask, *last; ///< last: the keys and values that GroupQueryAttention writes
    size_t mask_bytes, last_bytes;
    int32_t *lengths;
};
void onnxruntime_free(struct onnxruntime_call *self);

/// An attribute of the node: a whole number, or (where it is not 0) a real one.
void onnxruntime_attribute(struct onnxruntime_call *self, const char *name, size_t whole, float real);
/// An input that is the same in every call.
bool onnxruntime_input(struct onnxruntime_call *self, size_t at, struct onnx_value what, const void *data);
/// Queries of a shape as they lie, (B, Sq, H * D).
struct onnx_value onnxruntime_query(const struct attention_shape *shape);
/// The result, of the query's shape.
bool onnxruntime_result(struct onnxruntime_call *self, const struct onnx_value *query);
/// Keys and values of every cache, (B, Skv, Hkv * D) as they lie, or (rows) as (B, Hkv, Skv, D).
bool onnxruntime_caches(struct onnxruntime_call *self, size_t k_at, size_t v_at, bool rows);
/// What is added to scores, (1, 1 or H, Sq, Skv): -inf where the masks hide a key, and ALiBi.
bool onnxruntime_bias(struct onnxruntime_call *self, size_t at);
/// MultiHeadAttention's mask of keys: a length for each entry, or a flag for each entry and key.
bool onnxruntime_key_mask(struct onnxruntime_call *self, size_t at);
/// GroupQueryAttention's keys and values of this call, and its lengths.
bool onnxruntime_last(struct onnxruntime_call *self, size_t k_at, size_t v_at, size_t lengths_at, size_t total_at);

#endif
