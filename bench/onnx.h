// SPDX-License-Identifier: Apache-2.0
// bench/onnx.h - an ONNX model of one node, as bytes.
#ifndef FOVEA_BENCH_ONNX_H
#define FOVEA_BENCH_ONNX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum onnx_type { ONNX_FLOAT = 1, ONNX_INT32 = 6 }; // of onnx.proto's TensorProto.DataType
enum { ONNX_RANK = 4, ONNX_VALUES = 12, ONNX_ATTRIBUTES = 4 };

/// A tensor that goes in or comes out. Without a name: an input that the node does without.
struct onnx_value {
    const char *name;
    enum onnx_type type;
    size_t rank, dims[ONNX_RANK];
    const float *constant; ///< NULL, or what it is: then it is in the model, and no input of it
};

/// A whole number, or (where it is not 0) a real one.
struct onnx_attribute {
    const char *name;
    int64_t whole;
    float real;
};

struct onnx_node {
    const char *op, *domain; ///< domain: NULL for ONNX's own
    size_t input_count, output_count, attribute_count;
    struct onnx_value inputs[ONNX_VALUES], outputs[ONNX_VALUES];
    struct onnx_attribute attributes[ONNX_ATTRIBUTES];
};

/// Writes a model of opset 23. To be freed with bench_free(model, *capacity); NULL without memory.
void *onnx_model(const struct onnx_node *node, size_t *bytes, size_t *capacity);

#endif
