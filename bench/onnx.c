// SPDX-License-Identifier: Apache-2.0
// bench/onnx.c - the few messages of onnx.proto that a graph of nodes needs, in protobuf's wire format.
//
// A message is a list of fields; a field is a tag (number * 8 + type) and a varint (type 0), or four bytes (type 5), or
// a length and as many bytes (type 2), which may be a message. https://protobuf.dev/programming-guides/encoding,
// onnx/onnx.proto (IR 10).
#include "bench/onnx.h"
#include "bench/memory.h"

#include <string.h>

enum { NODE_MAX = 2048, VALUE_MAX = 256, MESSAGE_MAX = 4096, IR_VERSION = 10, OPSET = 23 };
enum { ATTRIBUTE_FLOAT = 1, ATTRIBUTE_INT = 2, ATTRIBUTE_INTS = 7 };

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

static void put_real(struct bytes *to, unsigned field, float value)
{
    put_varint(to, field * 8 + 5);
    memcpy(to->at + to->used, &value, sizeof value);
    to->used += sizeof value;
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
static void put_value(struct bytes *graph, unsigned field, const struct onnx_value *what)
{
    char dim_space[32], shape_space[96], tensor_space[128], type_space[160], value_space[VALUE_MAX];
    struct bytes shape = {shape_space, 0}, tensor = {tensor_space, 0}, type = {type_space, 0}, value = {value_space, 0};
    for (size_t i = 0; i < what->rank; i++) {
        struct bytes dim = {dim_space, 0};
        put_number(&dim, 1, what->dims[i]);
        put_bytes(&shape, 1, dim.at, dim.used);
    }
    put_number(&tensor, 1, what->type);
    put_bytes(&tensor, 2, shape.at, shape.used);
    put_bytes(&type, 1, tensor.at, tensor.used);
    put_text(&value, 1, what->name);
    put_bytes(&value, 2, type.at, type.used);
    put_bytes(graph, field, value.at, value.used);
}

// AttributeProto: name 1, f 2, i 3, ints 8, type 20.
static void put_attribute(struct bytes *node, const struct onnx_attribute *what)
{
    char space[128];
    struct bytes attribute = {space, 0};
    const bool real = what->real < 0 || what->real > 0;
    put_text(&attribute, 1, what->name);
    if (real)
        put_real(&attribute, 2, what->real);
    else if (!what->list_count)
        put_number(&attribute, 3, (uint64_t)what->whole);
    for (size_t i = 0; i < what->list_count; i++)
        put_number(&attribute, 8, what->list[i]);
    put_number(&attribute, 20, real ? ATTRIBUTE_FLOAT : what->list_count ? ATTRIBUTE_INTS : ATTRIBUTE_INT);
    put_bytes(node, 5, attribute.at, attribute.used);
}

// NodeProto: input 1, output 2, op_type 4, attribute 5, domain 7.
static void put_node(struct bytes *graph, const struct onnx_node *what)
{
    char space[NODE_MAX];
    struct bytes node = {space, 0};
    for (size_t i = 0; i < what->input_count; i++)
        put_text(&node, 1, what->inputs[i].name ? what->inputs[i].name : "");
    for (size_t i = 0; i < what->output_count; i++)
        put_text(&node, 2, what->outputs[i].name ? what->outputs[i].name : "");
    put_text(&node, 4, what->op);
    for (size_t i = 0; i < what->attribute_count; i++)
        put_attribute(&node, &what->attributes[i]);
    if (what->domain)
        put_text(&node, 7, what->domain);
    put_bytes(graph, 1, node.at, node.used);
}

static size_t value_bytes(const struct onnx_value *what)
{
    size_t bytes = what->type == ONNX_INT64 ? sizeof(int64_t) : sizeof(float);
    for (size_t i = 0; i < what->rank; i++)
        bytes *= what->dims[i];
    return bytes;
}

// The data of a constant: its rows one behind the other.
static void put_rows(struct bytes *to, const struct onnx_value *what, size_t count)
{
    const size_t row = what->row_stride ? what->dims[what->rank - 1] * sizeof(float) : count;
    const char *from = what->constant;
    for (size_t done = 0; done < count; done += row, from += what->row_stride * sizeof(float)) {
        memcpy(to->at + to->used, from, row);
        to->used += row;
    }
}

// TensorProto: dims 1, data_type 2, name 8, raw_data 9. Only the data is large: it is written where it stays.
static void put_constant(struct bytes *graph, const struct onnx_value *what)
{
    char space[VALUE_MAX];
    struct bytes head = {space, 0};
    const size_t count = value_bytes(what);
    for (size_t i = 0; i < what->rank; i++)
        put_number(&head, 1, what->dims[i]);
    put_number(&head, 2, what->type);
    put_text(&head, 8, what->name);
    put_varint(&head, 9 * 8 + 2);
    put_varint(&head, count);
    put_varint(graph, 5 * 8 + 2);
    put_varint(graph, head.used + count);
    memcpy(graph->at + graph->used, head.at, head.used);
    graph->used += head.used;
    put_rows(graph, what, count);
}

// OperatorSetIdProto: domain 1, version 2.
static void put_opset(struct bytes *model, const char *domain, uint64_t version)
{
    char space[64];
    struct bytes opset = {space, 0};
    put_text(&opset, 1, domain);
    put_number(&opset, 2, version);
    put_bytes(model, 8, opset.at, opset.used);
}

static bool named(const struct onnx_value *value, const char *name)
{
    return value->name && strcmp(value->name, name) == 0;
}

// Whether one of the first `count` nodes takes a value, or (made) makes it.
static bool knows(const struct onnx_node *nodes, size_t count, const char *name, bool made)
{
    for (size_t n = 0; n < count; n++)
        for (size_t i = 0; i < (made ? nodes[n].output_count : nodes[n].input_count); i++)
            if (named(made ? &nodes[n].outputs[i] : &nodes[n].inputs[i], name))
                return true;
    return false;
}

// An input of a node, where it is the first to take it: a constant, or an input of the model.
static void put_input(struct bytes *graph, const struct onnx_node *nodes, size_t count, size_t n, size_t i)
{
    const struct onnx_value *const value = &nodes[n].inputs[i];
    if (!value->name || knows(nodes, n, value->name, false))
        return;
    for (size_t earlier = 0; earlier < i; earlier++)
        if (named(&nodes[n].inputs[earlier], value->name))
            return;
    if (value->constant)
        put_constant(graph, value);
    else if (!knows(nodes, count, value->name, true))
        put_value(graph, 11, value);
}

// GraphProto: node 1, name 2, initializer 5, input 11, output 12.
static void put_graph(struct bytes *graph, const struct onnx_node *nodes, size_t count)
{
    for (size_t n = 0; n < count; n++)
        put_node(graph, &nodes[n]);
    put_text(graph, 2, "graph");
    for (size_t n = 0; n < count; n++)
        for (size_t i = 0; i < nodes[n].input_count; i++)
            put_input(graph, nodes, count, n, i);
    for (size_t n = 0; n < count; n++)
        for (size_t i = 0; i < nodes[n].output_count; i++)
            if (nodes[n].outputs[i].name && !knows(nodes, count, nodes[n].outputs[i].name, false))
                put_value(graph, 12, &nodes[n].outputs[i]);
}

// At most, of nodes, the values they name and their constants.
static size_t graph_capacity(const struct onnx_node *nodes, size_t count)
{
    size_t bytes = MESSAGE_MAX;
    for (size_t n = 0; n < count; n++) {
        bytes += NODE_MAX + (nodes[n].input_count + nodes[n].output_count) * VALUE_MAX;
        for (size_t i = 0; i < nodes[n].input_count; i++)
            bytes += nodes[n].inputs[i].constant ? value_bytes(&nodes[n].inputs[i]) : 0;
    }
    return bytes;
}

// ModelProto: ir_version 1, graph 7, opset_import 8.
void *onnx_model(const struct onnx_node *nodes, size_t count, size_t *bytes, size_t *capacity)
{
    const size_t graph_bytes = graph_capacity(nodes, count);
    *capacity = graph_bytes + MESSAGE_MAX;
    char *const graph_space = bench_alloc(graph_bytes), *const space = bench_alloc(*capacity);
    if (graph_space && space) {
        struct bytes graph = {graph_space, 0}, model = {space, 0};
        put_graph(&graph, nodes, count);
        put_number(&model, 1, IR_VERSION);
        put_bytes(&model, 7, graph.at, graph.used);
        put_opset(&model, "", OPSET);
        put_opset(&model, ONNX_CONTRIB, 1);
        *bytes = model.used;
    }
    bench_free(graph_space, graph_bytes);
    if (graph_space)
        return space;
    bench_free(space, *capacity);
    return NULL;
}
