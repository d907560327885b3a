// SPDX-License-Identifier: Apache-2.0
// bench/onnx.c - the few messages of onnx.proto that one product needs, in protobuf's wire format.
//
// A message is a list of fields; a field is a tag (number * 8 + type) and a varint (type 0), or a length and as many
// bytes (type 2), which may be a message. https://protobuf.dev/programming-guides/encoding, onnx/onnx.proto (IR 8).
#include "bench/onnx.h"
#include "bench/memory.h"

#include <stdint.h>
#include <string.h>

enum { MESSAGE_MAX = 1024, IR_VERSION = 8, OPSET = 13, ONNX_FLOAT = 1, ATTRIBUTE_INT = 2 };

struct bytes {
    char *at;
    size_t used;
};

static void put_varint(struct bytes *to, uint64_t value)
{
    do {
        to->at[to->used++] = (char)((value & 127) | (value > 127 ? 128 : 0));
        value >>= 7;
    } while (value);
}

static void put_number(struct bytes *to, unsigned field, uint64_t value)
{
    put_varint(to, field * 8);
    put_varint(to, value);
}

static void put_bytes(struct bytes *to, unsigned field, const void *data, size_t count)
{
    put_varint(to, field * 8 + 2);
    put_varint(to, count);
    memcpy(to->at + to->used, data, count);
    to->used += count;
}

static void put_text(struct bytes *to, unsigned field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

// ValueInfoProto: name 1, type 2 = TypeProto{tensor_type 1 {elem_type 1, shape 2 {dim 1 {dim_value 1}}}}.
static void put_value(struct bytes *graph, unsigned field, const char *name, size_t rows, size_t cols)
{
    char dim_space[32], shape_space[64], tensor_space[96], type_space[128], value_space[160];
    struct bytes shape = {shape_space, 0}, tensor = {tensor_space, 0}, type = {type_space, 0}, value = {value_space, 0};
    const size_t sizes[] = {rows, cols};
    for (size_t i = 0; i < 2; i++) {
        struct bytes dim = {dim_space, 0};
        put_number(&dim, 1, sizes[i]);
        put_bytes(&shape, 1, dim.at, dim.used);
    }
    put_number(&tensor, 1, ONNX_FLOAT);
    put_bytes(&tensor, 2, shape.at, shape.used);
    put_bytes(&type, 1, tensor.at, tensor.used);
    put_text(&value, 1, name);
    put_bytes(&value, 2, type.at, type.used);
    put_bytes(graph, field, value.at, value.used);
}

// AttributeProto: name 1, i 3, type 20.
static void put_flag(struct bytes *node, const char *name, bool flag)
{
    char space[64];
    struct bytes attribute = {space, 0};
    put_text(&attribute, 1, name);
    put_number(&attribute, 3, flag);
    put_number(&attribute, 20, ATTRIBUTE_INT);
    put_bytes(node, 5, attribute.at, attribute.used);
}

// NodeProto: input 1, output 2, op_type 4, attribute 5.
static void put_node(struct bytes *graph, const struct gemm_problem *p)
{
    char space[256];
    struct bytes node = {space, 0};
    put_text(&node, 1, "a");
    put_text(&node, 1, "b");
    put_text(&node, 2, "c");
    put_text(&node, 4, p->trans_a || p->trans_b ? "Gemm" : "MatMul");
    if (p->trans_a || p->trans_b) {
        put_flag(&node, "transA", p->trans_a);
        put_flag(&node, "transB", p->trans_b);
    }
    put_bytes(graph, 1, node.at, node.used);
}

// TensorProto: dims 1, data_type 2, name 8, raw_data 9. Only the data is large: it is written where it stays.
static void put_constant(struct bytes *graph, const float *data, size_t rows, size_t cols)
{
    char space[96];
    struct bytes head = {space, 0};
    const size_t count = rows * cols * sizeof(float);
    put_number(&head, 1, rows);
    put_number(&head, 1, cols);
    put_number(&head, 2, ONNX_FLOAT);
    put_text(&head, 8, "b");
    put_varint(&head, 9 * 8 + 2);
    put_varint(&head, count);
    put_varint(graph, 5 * 8 + 2);
    put_varint(graph, head.used + count);
    memcpy(graph->at + graph->used, head.at, head.used);
    memcpy(graph->at + graph->used + head.used, data, count);
    graph->used += head.used + count;
}

// ModelProto: ir_version 1, graph 7, opset_import 8 {version 2}. GraphProto: node 1, name 2, initializer 5, input 11,
// output 12.
void *onnx_model(const struct gemm_problem *p, const float *constant, size_t *bytes, size_t *capacity)
{
    const size_t rows = p->trans_b ? p->n : p->k, cols = p->trans_b ? p->k : p->n;
    const size_t graph_bytes = MESSAGE_MAX + (constant ? rows * cols * sizeof(float) : 0);
    *capacity = graph_bytes + MESSAGE_MAX;
    char *const graph_space = bench_alloc(graph_bytes), *const space = bench_alloc(*capacity);
    if (graph_space && space) {
        char opset_space[16];
        struct bytes graph = {graph_space, 0}, opset = {opset_space, 0}, model = {space, 0};
        put_node(&graph, p);
        put_text(&graph, 2, "product");
        if (constant)
            put_constant(&graph, constant, rows, cols);
        put_value(&graph, 11, "a", p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k);
        if (!constant)
            put_value(&graph, 11, "b", rows, cols);
        put_value(&graph, 12, "c", p->m, p->n);
        put_number(&opset, 2, OPSET);
        put_number(&model, 1, IR_VERSION);
        put_bytes(&model, 7, graph.at, graph.used);
        put_bytes(&model, 8, opset.at, opset.used);
        *bytes = model.used;
    }
    bench_free(graph_space, graph_bytes);
    if (graph_space)
        return space;
    bench_free(space, *capacity);
    return NULL;
}
