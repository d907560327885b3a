// SPDX-License-Identifier: Apache-2.0
// bench/peer_onnxruntime_layer.h - the graph of a whole layer, in the forms in which ONNX Runtime is given it.
#ifndef FOVEA_BENCH_PEER_ONNXRUNTIME_LAYER_H
#define FOVEA_BENCH_PEER_ONNXRUNTIME_LAYER_H

#include "bench/layer_problem.h"
#include "bench/peer_onnxruntime.h"

enum { ONNXRUNTIME_NODES = 40 };

/// A layer's nodes, with its weights as constants. Its inputs are x and, where it has a cache, past_k, past_v, lengths
/// (of each sequence) and total, its outputs y, present_k and present_v, in this order.
struct onnxruntime_graph {
    const struct layer_problem *problem;
    size_t layer, count;
    int64_t heads_shape[4], rows_shape[3]; ///< what some constants point to
    float root;                            ///< of dim
    struct onnx_node nodes[ONNXRUNTIME_NODES];
};

/// What is the same in all forms, and the tensors of a call.
struct onnx_value onnxruntime_x(const struct layer_problem *problem);
struct onnx_value onnxruntime_y(const struct layer_problem *problem);
struct onnx_value onnxruntime_cache(const struct layer_problem *problem, const char *name);
struct onnx_value onnxruntime_lengths(const struct layer_problem *problem);
struct onnx_value onnxruntime_total(void);

/// Encoders: as exporters write them, in nothing but ONNX's own operators.
void onnxruntime_exported(struct onnxruntime_graph *graph);
/// In ONNX Runtime's operators: MultiHeadAttention or, with a cache, GroupQueryAttention.
void onnxruntime_fused(struct onnxruntime_graph *graph);
/// Encoders: the same with Attention, which projects too.
void onnxruntime_fused_projections(struct onnxruntime_graph *graph);

#endif
