// SPDX-License-Identifier: Apache-2.0
// examples/bert/bert.c - sentence embeddings of a BERT encoder as Hugging Face stores it (model.safetensors in F32,
// BF16 or F16): reads the weights, computes a padded batch, and prints the mean of each sentence's rows, scaled to
// length 1. Matrices are packed as they are, embeddings stay in the file, vectors become f32.
//
//     cc bert.c $(pkg-config --cflags --libs fovea) -lm
//     ./a.out model.safetensors HEADS 101 7592 102 , 101 2088 2003 102
//
// HEADS is num_attention_heads of config.json: 12 for BERT-base and all-MiniLM-L6-v2, whose embeddings this computes. A
// tokenizer makes the ids; a comma separates sentences.
#include <fovea/fovea.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME = 128,
    LAYERS_MAX = 48,
    KEPT_MAX = 16 * LAYERS_MAX + 3
}; // of a layer: 6 Linears and 2 norms of 2 blocks each

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bert: %s: %s\n", what, why);
    exit(1);
}

static void must(enum fovea_status status, const char *what)
{
    if (status != FOVEA_OK)
        fail(what, fovea_status_string(status));
}

static void *take(size_t bytes)
{
    void *const memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!memory)
        fail("memory", "not enough");
    return memory;
}

struct model {
    struct fovea_engine *engine;
    struct fovea_safetensors *file;
    const char *prefix; // of every name: "bert." if the file has more than the encoder
    size_t width, ffn, tokens, positions;
    uint32_t layers;
    enum fovea_type type; // of all matrices
    const struct fovea_tensor *words, *place, *kind;
    float *row;             // of an embedding
    struct fovea_norm norm; // of the embeddings
    struct fovea_layer_weights layer[LAYERS_MAX];
    char name[NAME];      // of the tensor that find() last looked for
    void *kept[KEPT_MAX]; // memory to free
    size_t blocks;
};

static void *keep(struct model *m, size_t bytes)
{
    return m->kept[m->blocks++] = take(bytes);
}

// The tensor of that name, or NULL.
static const struct fovea_tensor *find(struct model *m, const char *format, ...)
{
    const int prefix = snprintf(m->name, sizeof m->name, "%s", m->prefix);
    va_list list;
    va_start(list, format);
    vsnprintf(m->name + prefix, sizeof m->name - (size_t)prefix, format, list);
    va_end(list);
    return fovea_safetensors_find(m->file, m->name);
}

// What find() has just returned, checked: it is rows x columns, or columns alone if rows is 0; SIZE_MAX: any number of
// rows. columns of 0 is set to that of the file.
static const struct fovea_tensor *shaped(const struct model *m, const struct fovea_tensor *t, size_t rows,
                                         size_t *columns)
{
    const uint32_t dims = rows != 0 ? 2 : 1;
    enum fovea_type type;
    if (!t)
        fail(m->name, "not in the file");
    if (fovea_tensor_type(t, &type) != FOVEA_OK || t->dims != dims)
        fail(t->name, "not a tensor of F32, BF16 or F16 of as many dimensions as in BERT");
    if (*columns == 0)
        *columns = t->shape[dims - 1];
    if (t->shape[0] == 0 || *columns == 0)
        fail(t->name, "is empty");
    if (t->shape[dims - 1] != *columns || (rows != 0 && rows != SIZE_MAX && t->shape[0] != rows))
        fail(t->name, "has another shape than the tensors before it");
    return t;
}

// A vector as f32.
static const float *vector(struct model *m, const struct fovea_tensor *tensor, size_t *size)
{
    const struct fovea_tensor *const t = shaped(m, tensor, 0, size);
    float *const x = keep(m, *size * sizeof *x);
    must(fovea_tensor_f32(m->engine, t, 0, *size, x), t->name);
    return x;
}

// A Linear: a weight of [outputs, inputs], packed, and its bias.
static struct fovea_linear linear(struct model *m, uint32_t i, const char *name, size_t inputs, size_t outputs)
{
    const struct fovea_tensor *const weight =
        shaped(m, find(m, "encoder.layer.%u.%s.weight", i, name), outputs, &inputs);
    enum fovea_type type;
    must(fovea_tensor_type(weight, &type), weight->name);
    if (type != m->type)
        fail(weight->name, "has another type than the embeddings");
    size_t bytes;
    must(fovea_pack_size_typed(type, inputs, outputs, &bytes), weight->name);
    void *const blob = keep(m, bytes);
    must(fovea_pack_typed(m->engine, type, FOVEA_TRANS, inputs, outputs, weight->data, inputs, blob, bytes),
         weight->name);
    const struct fovea_tensor *const bias = find(m, "encoder.layer.%u.%s.bias", i, name);
    return (struct fovea_linear){.weight = blob, .bias = vector(m, bias, &outputs)};
}

// A vector of a norm, which old files, that of bert-base-uncased among them, call gamma or beta.
static const float *of_norm(struct model *m, const char *norm, const char *old, const char *name)
{
    const struct fovea_tensor *const t = find(m, "%s.%s", norm, old);
    return vector(m, t ? t : find(m, "%s.%s", norm, name), &m->width);
}

static struct fovea_norm norm(struct model *m, const char *name)
{
    return (struct fovea_norm){.gamma = of_norm(m, name, "gamma", "weight"), .beta = of_norm(m, name, "beta", "bias")};
}

static void load(struct model *m, const char *path)
{
    char message[256], name[64];
    if (fovea_safetensors_open(path, &m->file, message, sizeof message) != FOVEA_OK)
        fail("weights", message);
    m->prefix = fovea_safetensors_find(m->file, "bert.embeddings.word_embeddings.weight") ? "bert." : "";
    m->words = shaped(m, find(m, "embeddings.word_embeddings.weight"), SIZE_MAX, &m->width);
    m->place = shaped(m, find(m, "embeddings.position_embeddings.weight"), SIZE_MAX, &m->width);
    m->kind = shaped(m, find(m, "embeddings.token_type_embeddings.weight"), SIZE_MAX, &m->width);
    must(fovea_tensor_type(m->words, &m->type), path);
    m->tokens = m->words->shape[0];
    m->positions = m->place->shape[0];
    m->row = keep(m, m->width * sizeof *m->row);
    m->norm = norm(m, "embeddings.LayerNorm");
    for (uint32_t i = 0; find(m, "encoder.layer.%u.output.dense.weight", i); i++) {
        struct fovea_layer_weights *const w = &m->layer[i];
        if (m->layers++ == LAYERS_MAX)
            fail(path, "more layers than this example has room for");
        if (i == 0)
            shaped(m, find(m, "encoder.layer.0.intermediate.dense.bias"), 0, &m->ffn);
        w->self_attention.q = linear(m, i, "attention.self.query", m->width, m->width);
        w->self_attention.k = linear(m, i, "attention.self.key", m->width, m->width);
        w->self_attention.v = linear(m, i, "attention.self.value", m->width, m->width);
        w->self_attention.o = linear(m, i, "attention.output.dense", m->width, m->width);
        w->up = linear(m, i, "intermediate.dense", m->width, m->ffn);
        w->down = linear(m, i, "output.dense", m->ffn, m->width);
        snprintf(name, sizeof name, "encoder.layer.%u.attention.output.LayerNorm", i);
        w->norm1 = norm(m, name);
        snprintf(name, sizeof name, "encoder.layer.%u.output.LayerNorm", i);
        w->norm3 = norm(m, name); // the norm of the FFN; norm2 is that of cross-attention
    }
    if (m->layers == 0)
        fail(path, "no encoder.layer.0");
}

static void add_row(const struct model *m, const struct fovea_tensor *embedding, size_t row, float *x)
{
    must(fovea_tensor_f32(m->engine, embedding, row * m->width, m->width, m->row), embedding->name);
    for (size_t c = 0; c < m->width; c++)
        x[c] += m->row[c];
}

// Adds the embeddings of a token, a position and token type 0.
static void embed(const struct model *m, size_t token, size_t position, float *x)
{
    add_row(m, m->words, token, x);
    add_row(m, m->place, position, x);
    add_row(m, m->kind, 0, x);
}

// The last hidden states of a batch, x (batch, len, width) of embeddings, in place.
static void encode(const struct model *m, size_t heads, size_t batch, size_t len, const uint32_t *lens, float *x)
{
    const float eps = 1e-12f; // layer_norm_eps of BERT
    struct fovea_rowwise_desc first = FOVEA_ROWWISE_DESC_INIT;
    first.op = FOVEA_ROWWISE_LAYERNORM;
    first.rows = batch * len;
    first.cols = first.ldx = first.ldy = m->width;
    first.eps = eps;
    const struct fovea_rowwise_args rows = {
        .x = x, .y = x, .gamma = m->norm.gamma, .beta = m->norm.beta, .rows = batch * len};
    must(fovea_rowwise_once(m->engine, &first, &rows), "norm of the embeddings");

    struct fovea_layer_desc desc; // post-norm is the default
    must(fovea_layer_desc_init(&desc, sizeof desc), "desc");
    desc.activation = FOVEA_ACTIVATION_GELU; // "gelu" of config.json
    desc.eps = eps;
    desc.batch = batch;
    desc.len = len;
    desc.width = m->width;
    desc.heads = heads;
    desc.qk_dim = desc.v_dim = m->width / heads;
    desc.ffn = m->ffn;
    desc.weight_type = m->type;
    char text[FOVEA_EXPLAIN_BYTES];
    struct fovea_work *const plan = take(fovea_layer_plan_size());
    if (fovea_layer_plan(m->engine, &desc, plan) != FOVEA_OK) { // one plan for all layers
        fovea_explain_layer(m->engine, &desc, text, sizeof text);
        fail("plan", text);
    }
    void *const shared = take(plan->shared_bytes), *const scratch = take(plan->scratch_bytes);
    for (uint32_t i = 0; i < m->layers; i++) {
        const struct fovea_layer_args args = {
            .weights = &m->layer[i], .x = x, .y = x, .batch = batch, .len = len, .lens = lens};
        must(fovea_layer(plan, &args, shared, scratch, NULL), "layer");
    }
    free(plan);
    free(shared);
    free(scratch);
}

// Prints the mean of the rows, scaled to length 1.
static void print_mean(const float *x, size_t rows, size_t width)
{
    double *const mean = take(width * sizeof *mean), squares = 0;
    for (size_t c = 0; c < width; c++) {
        mean[c] = 0;
        for (size_t r = 0; r < rows; r++)
            mean[c] += x[r * width + c];
        squares += mean[c] * mean[c];
    }
    for (size_t c = 0; c < width; c++)
        printf("%s%.6f", c == 0 ? "" : " ", mean[c] / sqrt(squares));
    puts("");
    free(mean);
}

// Digits and nothing else; SIZE_MAX, which no model has of anything, else.
static size_t number(const char *text)
{
    char *end;
    const size_t value = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' ? value : SIZE_MAX;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s model.safetensors HEADS ID... [, ID...]\n", argv[0]);
        return 2;
    }
    struct model m = {0};
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = 1;
    must(fovea_engine_create(&options, &m.engine), "engine");
    load(&m, argv[1]);
    const size_t heads = number(argv[2]);
    if (heads == 0 || m.width % heads != 0)
        fail(argv[2], "not a number of heads that divides the width");

    // Lengths of the sentences, then their embeddings, padded to the longest. What is in the padding has no influence.
    uint32_t *const lens = take((size_t)argc * sizeof *lens);
    size_t batch = 1, len = 0;
    lens[0] = 0;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], ",") == 0)
            lens[batch++] = 0;
        else if (++lens[batch - 1] > len)
            len = lens[batch - 1];
    }
    if (len > m.positions)
        fail("a sentence", "more tokens than the model has positions");
    float *const x = take(batch * len * m.width * sizeof *x);
    memset(x, 0, batch * len * m.width * sizeof *x);
    for (size_t i = 3, b = 0, at = 0; i < (size_t)argc; i++) {
        if (strcmp(argv[i], ",") == 0) {
            b++;
            at = 0;
        } else {
            const size_t token = number(argv[i]);
            if (token >= m.tokens)
                fail(argv[i], "not the number of a token");
            embed(&m, token, at, x + (b * len + at) * m.width);
            at++;
        }
    }
    encode(&m, heads, batch, len, lens, x);
    for (size_t b = 0; b < batch; b++) {
        if (lens[b] != 0)
            print_mean(x + b * len * m.width, lens[b], m.width);
    }
    while (m.blocks != 0)
        free(m.kept[--m.blocks]);
    free(x);
    free(lens);
    fovea_safetensors_close(m.file);
    fovea_engine_destroy(m.engine);
    return 0;
}
