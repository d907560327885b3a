// SPDX-License-Identifier: Apache-2.0
// nn/transformer_load.c - finds a Transformer's tensors by name, checks their shapes and types, packs and copies them.
//
// Weights of Linears are packed as they are, so all have one type, which is that of a plan; or all are rounded to 8-bit
// integers. All else becomes f32.
// It runs twice: without a file it only takes memory from a measuring arena, so that sizes and layout cannot differ.
#include "nn/transformer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_TEXT = 24 * FOVEA_TENSOR_DIMS_MAX }; // brackets, and per dimension 20 digits, a comma, a blank

// The weights of all Linears have the type of this one.
static const char typical[] = "output.weight";

struct loader {
    const struct fovea_engine *engine;
    enum fovea_type type;                 ///< of the weights of all Linears, in the file
    enum fovea_type packed;               ///< and in their blobs: the same, or FOVEA_S8
    const struct fovea_safetensors *file; ///< NULL: only measure
    struct arena *arena;
    const struct fovea_why *why;
    uint8_t *used; ///< tensors used so far; an unused one is an error
    char prefix[64];
};

// "[2, 3]"
static const char *shape_text(const size_t *shape, uint32_t dims, char text[SHAPE_TEXT])
{
    size_t used = (size_t)snprintf(text, SHAPE_TEXT, "[");
    for (uint32_t i = 0; i < dims; i++)
        used += (size_t)snprintf(text + used, SHAPE_TEXT - used, i ? ", %zu" : "%zu", shape[i]);
    snprintf(text + used, SHAPE_TEXT - used, "]");
    return text;
}

// The type of a tensor, or a line that says that it is none of a model's.
static enum fovea_status check_type(const struct fovea_tensor *t, enum fovea_type *type, const struct fovea_why *why)
{
    FOVEA_REQUIRE(fovea_tensor_type(t, type) == FOVEA_OK, FOVEA_ERR_FORMAT, why,
                  "tensor \"%.80s\" is %s, not F32, BF16 or F16", t->name, t->dtype);
    return FOVEA_OK;
}

// Finds the tensor prefix.name of this shape (cols 0: one dimension). Biases may be missing.
static enum fovea_status find(const struct loader *loader, const char *name, size_t rows, size_t cols, int optional,
                              const struct fovea_tensor **out)
{
    enum fovea_type type;
    char full[160], is[SHAPE_TEXT], expected[SHAPE_TEXT];
    const size_t shape[] = {rows, cols};
    const uint32_t dims = cols ? 2 : 1;
    snprintf(full, sizeof full, "%s%s", loader->prefix, name);
    *out = NULL;
    const struct fovea_tensor *const t = fovea_safetensors_find(loader->file, full);
    if (!t && optional)
        return FOVEA_OK;
    FOVEA_REQUIRE(t, FOVEA_ERR_FORMAT, loader->why, "tensor \"%s\" is missing", full);
    FOVEA_TRY(check_type(t, &type, loader->why));
    FOVEA_REQUIRE(t->dims == dims && memcmp(t->shape, shape, dims * sizeof *shape) == 0, FOVEA_ERR_FORMAT, loader->why,
                  "tensor \"%s\": shape %s, expected %s", full, shape_text(t->shape, t->dims, is),
                  shape_text(shape, dims, expected));
    *out = t;
    loader->used[t - fovea_safetensors_at(loader->file, 0)] = 1;
    return FOVEA_OK;
}

// The data of a Linear's weight, [outputs, inputs].
static enum fovea_status find_matrix(const struct loader *loader, const char *name, size_t inputs, size_t outputs,
                                     const void **out)
{
    const struct fovea_tensor *t;
    enum fovea_type type;
    FOVEA_TRY(find(loader, name, outputs, inputs, 0, &t));
    FOVEA_TRY(fovea_tensor_type(t, &type));
    FOVEA_REQUIRE(type == loader->type, FOVEA_ERR_FORMAT, loader->why,
                  "tensor \"%.80s\" is %s, but \"%s\" is %s: the weights of all Linears have one type", t->name,
                  t->dtype, typical, fovea_safetensors_find(loader->file, typical)->dtype);
    *out = t->data;
    return FOVEA_OK;
}

// Copies a tensor of rows x cols (cols 0: a vector). If an optional one is missing the result is NULL, but its room is
// still taken.
static enum fovea_status copy(const struct loader *loader, const char *name, size_t rows, size_t cols, int optional,
                              float **out)
{
    float *const to = fovea_arena_take(loader->arena, rows, (cols ? cols : 1) * sizeof(float));
    *out = to;
    if (!loader->file)
        return FOVEA_OK;
    const struct fovea_tensor *from;
    FOVEA_TRY(find(loader, name, rows, cols, optional, &from));
    if (from)
        return fovea_tensor_f32(loader->engine, from, 0, rows * (cols ? cols : 1), to);
    *out = NULL;
    return FOVEA_OK;
}

// An infinite weight or NaN cannot be rounded to 8 bits.
static enum fovea_status check_packed(const struct loader *loader, const char *name, enum fovea_status status)
{
    FOVEA_REQUIRE(status != FOVEA_ERR_VALUE, status, loader->why,
                  "tensor \"%s%s\" has an element that is infinite, NaN or too large for 8 bits", loader->prefix, name);
    return status;
}

// Loads a Linear: name.weight [outputs, inputs] is packed, name.bias [outputs] copied.
static enum fovea_status load_linear(const struct loader *loader, const char *name, size_t inputs, size_t outputs,
                                     struct fovea_linear *out)
{
    char part[64];
    size_t bytes;
    float *bias;
    FOVEA_REQUIRE(!fovea_pack_size_typed(loader->packed, inputs, outputs, &bytes), FOVEA_ERR_OVERFLOW, loader->why,
                  "%s%s: too large", loader->prefix, name);
    void *const blob = fovea_arena_take(loader->arena, bytes, 1);
    snprintf(part, sizeof part, "%s.bias", name);
    FOVEA_TRY(copy(loader, part, outputs, 0, 1, &bias));
    *out = (struct fovea_linear){blob, bias};
    if (!loader->file)
        return FOVEA_OK;
    const void *weight;
    snprintf(part, sizeof part, "%s.weight", name);
    FOVEA_TRY(find_matrix(loader, part, inputs, outputs, &weight));
    const enum fovea_status status =
        loader->packed == FOVEA_S8
            ? fovea_pack_s8(loader->engine, loader->type, FOVEA_TRANS, inputs, outputs, weight, inputs, blob, bytes)
            : fovea_pack_typed(loader->engine, loader->type, FOVEA_TRANS, inputs, outputs, weight, inputs, blob, bytes);
    return check_packed(loader, part, status);
}

// Loads the gate and the up projection of a gated feed-forward network, each [outputs, inputs], as one interleaved
// operand. If only one of them has a bias, the other's is zeros.
static enum fovea_status load_gated(const struct loader *loader, size_t inputs, size_t outputs,
                                    struct fovea_linear *out)
{
    static const char *const weights[2] = {"ffn.gate.weight", "ffn.up.weight"};
    static const char *const biases[2] = {"ffn.gate.bias", "ffn.up.bias"};
    size_t columns, bytes;
    FOVEA_REQUIRE(fovea_mul(outputs, 2, &columns) && !fovea_pack_size_typed(loader->packed, inputs, columns, &bytes),
                  FOVEA_ERR_OVERFLOW, loader->why, "%sffn: too large", loader->prefix);
    void *const blob = fovea_arena_take(loader->arena, bytes, 1);
    float *const bias = fovea_arena_take(loader->arena, columns, sizeof *bias);
    *out = (struct fovea_linear){blob, NULL};
    if (!loader->file)
        return FOVEA_OK;
    const void *weight[2];
    const struct fovea_tensor *half[2];
    for (int i = 0; i < 2; i++) {
        FOVEA_TRY(find_matrix(loader, weights[i], inputs, outputs, &weight[i]));
        FOVEA_TRY(find(loader, biases[i], outputs, 0, 1, &half[i]));
        for (size_t j = 0; j < outputs; j++) {
            float *const to = &bias[2 * j + (size_t)i];
            *to = 0;
            FOVEA_TRY(half[i] ? fovea_tensor_f32(loader->engine, half[i], j, 1, to) : FOVEA_OK);
        }
    }
    out->bias = half[0] || half[1] ? bias : NULL;
    const enum fovea_status status =
        loader->packed == FOVEA_S8 ? fovea_pack_gated_s8(loader->engine, loader->type, FOVEA_TRANS, inputs, outputs,
                                                         weight[0], inputs, weight[1], inputs, blob, bytes)
                                   : fovea_pack_gated_typed(loader->engine, loader->type, FOVEA_TRANS, inputs, outputs,
                                                            weight[0], inputs, weight[1], inputs, blob, bytes);
    // Of the two only the first one's own rounding tells which is to blame.
    const int first = status == FOVEA_ERR_VALUE && fovea_pack_s8(loader->engine, loader->type, FOVEA_TRANS, inputs,
                                                                 outputs, weight[0], inputs, blob, bytes);
    return check_packed(loader, weights[!first], status);
}

static enum fovea_status load_norm(const struct loader *loader, const char *name, size_t width, struct fovea_norm *out)
{
    char part[64];
    float *gamma, *beta;
    snprintf(part, sizeof part, "%s.weight", name);
    FOVEA_TRY(copy(loader, part, width, 0, 0, &gamma));
    snprintf(part, sizeof part, "%s.bias", name);
    FOVEA_TRY(copy(loader, part, width, 0, 1, &beta));
    *out = (struct fovea_norm){gamma, beta};
    return FOVEA_OK;
}

static enum fovea_status load_attention(const struct loader *loader, const struct fovea_transformer_config *c,
                                        const char *name, struct fovea_mha_weights *out)
{
    const size_t d = c->d_model, qk = c->heads * c->qk_dim, v = c->heads * c->v_dim;
    const struct {
        const char *name;
        size_t inputs, outputs;
        struct fovea_linear *to;
    } parts[] = {{"q", d, qk, &out->q}, {"k", d, qk, &out->k}, {"v", d, v, &out->v}, {"o", v, d, &out->o}};
    for (int i = 0; i < 4; i++) {
        char part[48];
        snprintf(part, sizeof part, "%s.%s", name, parts[i].name);
        FOVEA_TRY(load_linear(loader, part, parts[i].inputs, parts[i].outputs, parts[i].to));
    }
    return FOVEA_OK;
}

static enum fovea_status load_layer(struct loader *loader, const struct fovea_transformer_config *c,
                                    const char *stack, size_t index, struct fovea_layer_weights *out)
{
    const int decoder = stack[0] == 'd';
    snprintf(loader->prefix, sizeof loader->prefix, "%s.layers.%zu.", stack, index);
    *out = (struct fovea_layer_weights){.norm2 = {NULL, NULL}}; // an encoder layer has none
    FOVEA_TRY(load_attention(loader, c, "self_attention", &out->self_attention));
    FOVEA_TRY(load_norm(loader, "norm1", c->d_model, &out->norm1));
    if (decoder) {
        FOVEA_TRY(load_attention(loader, c, "cross_attention", &out->cross_attention));
        FOVEA_TRY(load_norm(loader, "norm2", c->d_model, &out->norm2));
    }
    FOVEA_TRY(load_norm(loader, decoder ? "norm3" : "norm2", c->d_model, &out->norm3));
    FOVEA_TRY(c->gated ? load_gated(loader, c->d_model, c->ffn, &out->up)
                       : load_linear(loader, "ffn.up", c->d_model, c->ffn, &out->up));
    FOVEA_TRY(load_linear(loader, "ffn.down", c->ffn, c->d_model, &out->down));
    loader->prefix[0] = '\0';
    return FOVEA_OK;
}

// Loads learned positions: as many rows as the longest sequence needs; the file may have more.
static enum fovea_status load_positions(const struct loader *loader, const char *name, size_t rows, size_t width,
                                        float **out)
{
    *out = fovea_arena_take(loader->arena, rows, width * sizeof(float));
    if (!loader->file)
        return FOVEA_OK;
    char is[SHAPE_TEXT];
    const struct fovea_tensor *t = fovea_safetensors_find(loader->file, name);
    FOVEA_REQUIRE(t, FOVEA_ERR_FORMAT, loader->why, "tensor \"%s\" is missing", name);
    FOVEA_REQUIRE(t->dims == 2 && t->shape[0] >= rows && t->shape[1] == width, FOVEA_ERR_FORMAT, loader->why,
                  "tensor \"%s\": shape %s, expected [%zu or more, %zu]", name, shape_text(t->shape, t->dims, is),
                  rows, width);
    FOVEA_TRY(find(loader, name, t->shape[0], width, 0, &t));
    return fovea_tensor_f32(loader->engine, t, 0, rows * width, *out);
}

static enum fovea_status load_all(struct fovea_transformer *model, struct loader *loader)
{
    struct arena *const arena = loader->arena;
    const struct fovea_safetensors *const file = loader->file;
    const struct fovea_transformer_config *const c = &model->config;
    const struct fovea_transformer_options *const o = &model->options;
    model->encoder = fovea_arena_take(arena, c->encoder_layers, sizeof *model->encoder);
    model->decoder = fovea_arena_take(arena, c->decoder_layers, sizeof *model->decoder);
    struct fovea_layer_weights unused; // while measuring there is nowhere to write to
    for (size_t i = 0; i < c->encoder_layers; i++)
        FOVEA_TRY(load_layer(loader, c, "encoder", i, file ? &model->encoder[i] : &unused));
    for (size_t i = 0; i < c->decoder_layers; i++)
        FOVEA_TRY(load_layer(loader, c, "decoder", i, file ? &model->decoder[i] : &unused));
    if (c->final_norm) {
        FOVEA_TRY(load_norm(loader, "encoder.norm", c->d_model, &model->encoder_norm));
        FOVEA_TRY(load_norm(loader, "decoder.norm", c->d_model, &model->decoder_norm));
    }
    FOVEA_TRY(load_linear(loader, "output", c->d_model, c->target_vocab, &model->output));
    FOVEA_TRY(copy(loader, "source_embedding.weight", c->source_vocab, c->d_model, 0, &model->source_embedding));
    FOVEA_TRY(copy(loader, "target_embedding.weight", c->target_vocab, c->d_model, 0, &model->target_embedding));
    if (c->positions == FOVEA_POSITIONS_LEARNED) {
        FOVEA_TRY(load_positions(loader, "source_positions.weight", o->max_source, c->d_model,
                                 &model->source_positions));
        FOVEA_TRY(load_positions(loader, "target_positions.weight", o->max_target, c->d_model,
                                 &model->target_positions));
    }
    return FOVEA_OK;
}

enum fovea_status fovea_transformer_type(const struct fovea_safetensors *file, enum fovea_type *type,
                                         const struct fovea_why *why)
{
    const struct fovea_tensor *const t = fovea_safetensors_find(file, typical);
    FOVEA_REQUIRE(t, FOVEA_ERR_FORMAT, why, "tensor \"%s\" is missing", typical);
    return check_type(t, type, why);
}

enum fovea_status fovea_transformer_load(struct fovea_transformer *model, const struct fovea_safetensors *file,
                                         struct arena *arena, const struct fovea_why *why)
{
    const size_t count = fovea_safetensors_count(file);
    struct loader loader = {.engine = model->engine,
                            .type = model->file_type,
                            .packed = model->weight_type,
                            .file = file,
                            .arena = arena,
                            .why = why,
                            .used = calloc(count + 1, sizeof *loader.used)};
    FOVEA_REQUIRE(loader.used, FOVEA_ERR_MEMORY, why, "transformer: no memory");
    enum fovea_status status = load_all(model, &loader);
    for (size_t i = 0; i < count && !status; i++)
        if (!loader.used[i]) { // a misspelt bias would otherwise be a silently different model
            fovea_say(why, "tensor \"%.80s\" belongs to no part of this model", fovea_safetensors_at(file, i)->name);
            status = FOVEA_ERR_FORMAT;
        }
    free(loader.used);
    return status;
}
