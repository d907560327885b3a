// SPDX-License-Identifier: Apache-2.0
// tests/model/random_model.c - a Transformer with random weights, as a safetensors file in memory.
#include "tests/model/random_model.h"

#include "tests/support/test.h"

enum { HEADER_MAX = 1 << 16 };

struct writer {
    char *header;
    size_t header_used;
    float *data;
    size_t count, capacity;
    uint64_t seed;
    enum random_biases biases;
};

static void fail(const char *what)
{
    fprintf(stderr, "FAIL random model: %s\n", what);
    exit(1);
}

// One tensor of rows x cols (cols 0: a vector) with entries of about 1/sqrt(fan in), around `centre`.
static void tensor(struct writer *w, const char *prefix, const char *name, size_t rows, size_t cols, float centre)
{
    const size_t n = rows * (cols ? cols : 1);
    while (w->count + n > w->capacity)
        w->data = realloc(w->data, (w->capacity = 2 * w->capacity + n) * sizeof *w->data);
    const float scale = cols ? 1.5f / sqrtf((float)cols) : 0.1f;
    for (size_t i = 0; i < n; i++)
        w->data[w->count + i] = centre + scale * test_float(&w->seed);
    char shape[48];
    if (w->header_used + 300 > HEADER_MAX)
        fail("its header is too long");
    snprintf(shape, sizeof shape, cols ? "%zu,%zu" : "%zu", rows, cols);
    w->header_used += (size_t)snprintf(w->header + w->header_used, HEADER_MAX - w->header_used,
                                       "%s\"%s%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                                       w->header_used > 1 ? "," : "", prefix, name, shape, w->count * sizeof(float),
                                       (w->count + n) * sizeof(float));
    w->count += n;
}

// Which biases are left out of some depends on their numbers alone.
static void bias(struct writer *w, const char *prefix, const char *name, size_t width)
{
    if (w->biases == RANDOM_ALL || (w->biases == RANDOM_SOME && test_random(&w->seed) % 2))
        tensor(w, prefix, name, width, 0, 0);
}

static void linear(struct writer *w, const char *prefix, const char *name, size_t inputs, size_t outputs)
{
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    tensor(w, prefix, full, outputs, inputs, 0);
    snprintf(full, sizeof full, "%s.bias", name);
    bias(w, prefix, full, outputs);
}

static void norm(struct writer *w, const char *prefix, const char *name, size_t width)
{
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    tensor(w, prefix, full, width, 0, 1);
    snprintf(full, sizeof full, "%s.bias", name);
    bias(w, prefix, full, width);
}

static void attention(struct writer *w, const struct fovea_transformer_config *c, const char *prefix)
{
    linear(w, prefix, "q", c->d_model, c->heads * c->qk_dim);
    linear(w, prefix, "k", c->d_model, c->heads * c->qk_dim);
    linear(w, prefix, "v", c->d_model, c->heads * c->v_dim);
    linear(w, prefix, "o", c->heads * c->v_dim, c->d_model);
}

static void layer(struct writer *w, const struct fovea_transformer_config *c, const char *stack, size_t index)
{
    char prefix[64], part[96];
    snprintf(prefix, sizeof prefix, "%s.layers.%zu.", stack, index);
    snprintf(part, sizeof part, "%sself_attention.", prefix);
    attention(w, c, part);
    if (stack[0] == 'd') {
        snprintf(part, sizeof part, "%scross_attention.", prefix);
        attention(w, c, part);
        norm(w, prefix, "norm3", c->d_model);
    }
    norm(w, prefix, "norm1", c->d_model);
    norm(w, prefix, "norm2", c->d_model);
    if (c->gated)
        linear(w, prefix, "ffn.gate", c->d_model, c->ffn);
    linear(w, prefix, "ffn.up", c->d_model, c->ffn);
    linear(w, prefix, "ffn.down", c->ffn, c->d_model);
}

static unsigned char *write_file(struct writer *w, size_t *size)
{
    w->header[w->header_used++] = '}';
    while (w->header_used % 8)
        w->header[w->header_used++] = ' ';
    *size = 8 + w->header_used + w->count * sizeof(float);
    unsigned char *const bytes = test_alloc(*size);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)w->header_used >> (8 * i));
    memcpy(bytes + 8, w->header, w->header_used);
    memcpy(bytes + 8 + w->header_used, w->data, w->count * sizeof(float));
    return bytes;
}

void random_model_init(struct random_model *model, const struct fovea_transformer_config *c, uint64_t seed,
                       enum random_biases biases)
{
    struct writer w = {.header = calloc(1, HEADER_MAX), .header_used = 1, .seed = seed, .biases = biases};
    if (!w.header)
        fail("no memory");
    w.header[0] = '{';
    tensor(&w, "", "source_embedding.weight", c->source_vocab, c->d_model, 0);
    tensor(&w, "", "target_embedding.weight", c->target_vocab, c->d_model, 0);
    for (size_t i = 0; i < c->encoder_layers; i++)
        layer(&w, c, "encoder", i);
    for (size_t i = 0; i < c->decoder_layers; i++)
        layer(&w, c, "decoder", i);
    if (c->final_norm) {
        norm(&w, "", "encoder.norm", c->d_model);
        norm(&w, "", "decoder.norm", c->d_model);
    }
    linear(&w, "", "output", c->d_model, c->target_vocab);
    if (c->positions == FOVEA_POSITIONS_LEARNED) {
        tensor(&w, "", "source_positions.weight", RANDOM_POSITIONS, c->d_model, 0);
        tensor(&w, "", "target_positions.weight", RANDOM_POSITIONS, c->d_model, 0);
    }
    *model = (struct random_model){.config = *c};
    model->bytes = write_file(&w, &model->size);
    free(w.header);
    free(w.data);
    char message[200] = "";
    if (fovea_safetensors_from_memory(model->bytes, model->size, &model->file, message, sizeof message))
        fail(message);
}

void random_model_free(struct random_model *model)
{
    fovea_safetensors_close(model->file);
    free(model->bytes);
}

float *random_model_tensor(const struct random_model *model, const char *name, size_t *count)
{
    const struct fovea_tensor *const t = fovea_safetensors_find(model->file, name);
    if (!t)
        fail(name);
    if (count)
        *count = t->bytes / sizeof(float);
    return (float *)(void *)(model->bytes + ((const unsigned char *)t->data - model->bytes));
}

struct fovea_transformer *random_model_create(const struct random_model *model, const struct fovea_engine *engine,
                                              struct fovea_transformer_options options)
{
    struct fovea_transformer *out = NULL;
    char message[200] = "";
    options.struct_size = sizeof options;
    if (fovea_transformer_create(engine, model->file, &model->config, &options, &out, message, sizeof message))
        fail(message);
    return out;
}

void random_tokens(uint32_t *tokens, size_t n, size_t vocab, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        tokens[i] = test_below(&seed, (uint32_t)vocab);
}
