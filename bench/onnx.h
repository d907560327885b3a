// SPDX-License-Identifier: Apache-2.0
// bench/onnx.h - an ONNX model of a few nodes, as bytes.
#ifndef FOVEA_BENCH_ONNX_H
#define FOVEA_BENCH_ONNX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum onnx_type { ONNX_FLOAT = 1, ONNX_INT32 = 6, ONNX_INT64 = 7 }; // of onnx.proto's TensorProto.DataType
enum { ONNX_RANK = 4, ONNX_VALUES = 12, ONNX_ATTRIBUTES = 4 };
/// The domain of ONNX Runtime's own operators.
#define ONNX_CONTRIB "com.microsoft"

/// A tensor that goes in or comes out; between two nodes nothing but its name is looked at. Without a name: one that
/// the node does without.
struct onnx_value {
    const char *name;
    enum onnx_type type;
    size_t rank, dims[ONNX_RANK];
    const void *constant; ///< NULL, or what it is: then it is in the model, and no input of it
    size_t row_stride;    ///< floats from one row of a constant to the next; 0: they are dense
};

/// A whole number, or (where it is not 0) a real one, or (where there are some) a list of whole ones.
struct onnx_attribute {
    const char *name;
    int64_t whole;
    float real;
    size_t list_count;
    uint8_t list[ONNX_RANK];
};

struct onnx_node {
    const char *op, *domain; ///< domain: NULL for ONNX's own
    size_t input_count, output_count, attribute_count;
    struct onnx_value inputs[ONNX_VALUES], outputs[ONNX_VALUES];
    struct onnx_attribute attributes[ONNX_ATTRIBUTES];
};

/// Writes a model of opset 23. Values of one name are one value: what no node makes is an input of the model, what no
/// node takes an output of it. To be freed with bench_free(model, *capacity); NULL without memory.
void *onnx_model(const struct onnx_node *nodes, size_t count, size_t *bytes, size_t *capacity);

#endif
