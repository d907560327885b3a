// SPDX-License-Identifier: Apache-2.0
// examples/llama/llama.c - continues a text with a model of the Llama family, as Hugging Face stores it: a folder with
// config.json and safetensors files of BF16, F16 or F32. Such models are Llama 2 and 3, SmolLM, Mistral, Qwen 2 and 3.
// Matrices stay in their type, or become 8-bit integers with scales; keys and values are rounded to it.
//
//     cc -O2 -fopenmp llama.c folder.c $(pkg-config --cflags --libs fovea_openmp) -lm
//     OMP_NUM_THREADS=4 ./a.out FOLDER 40 1 450 4996 310
//
// prints the likeliest tokens that follow the given ones, one after another, 40 or as many as there are until the text
// ends. Without tokens they are read from standard input. `./a.out --s8 FOLDER ...` computes with matrices of 8 bits,
// which are read about twice as fast as BF16. A tokenizer makes tokens of a text and the other way round:
//
//     from transformers import AutoTokenizer
//     print(*AutoTokenizer.from_pretrained(FOLDER).encode("The capital of France is"))
//
// Without OpenMP (pkg-config fovea) all is done in one thread.
#include "folder.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <fovea/openmp.h>
#include <omp.h>
#endif

enum { LAYERS_MAX = 160, PIECE = 256 }; // PIECE: the most tokens of a call

struct model {
    struct fovea_engine *engine;
    struct fovea_executor executor;
    struct folder folder;
    size_t width, ffn, tokens, layers, heads, kv_heads, dim;
    int qk_norm;              // queries and keys have norms: Qwen 3
    enum fovea_type type;     // of matrices in the files, and of caches
    enum fovea_type computed; // of matrices that are computed with: the same, or FOVEA_S8
    const struct fovea_tensor *embedding;
    struct fovea_layer_weights layer[LAYERS_MAX];
    struct fovea_kv_cache cache[LAYERS_MAX];
    const float *norm; // before the head
    const void *head;
    float *cos, *sin, *x;                          // x: rows on their way through the layers
    struct fovea_work *plan, *last_norm, *product; // one plan for all layers
    void *shared, *scratch;
};

static void read_config(struct model *m)
{
    static const char *const families[] = {"\"llama\"", "\"mistral\"", "\"qwen2\"", "\"qwen3\""};
    const struct folder *const f = &m->folder;
    int known = 0;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        known |= is(f, "model_type", families[i]);
    if (!known)
        fail("model_type", "not llama, mistral, qwen2 or qwen3");
    if (!is(f, "hidden_act", "\"silu\""))
        fail("hidden_act", "not silu");
    if (is(f, "use_sliding_window", "true"))
        fail("use_sliding_window", "windows in some of the layers");
    if (number(f, "partial_rotary_factor", 1) != 1)
        fail("partial_rotary_factor", "these families turn whole heads");
    m->width = size(f, "hidden_size", 0);
    m->ffn = size(f, "intermediate_size", 0);
    m->tokens = size(f, "vocab_size", 0);
    m->layers = size(f, "num_hidden_layers", 0);
    m->heads = size(f, "num_attention_heads", 0);
    m->kv_heads = size(f, "num_key_value_heads", m->heads);
    m->dim = size(f, "head_dim", m->width / m->heads);
    m->qk_norm = is(f, "model_type", "\"qwen3\"");
    if (m->layers > LAYERS_MAX)
        fail("num_hidden_layers", "more than this example has room for");
}

static const struct fovea_tensor *of_same_type(const struct model *m, const struct fovea_tensor *t)
{
    enum fovea_type type;
    must(fovea_tensor_type(t, &type), t->name);
    if (type != m->type)
        fail(t->name, "has another type than the embedding");
    return t;
}

static const struct fovea_tensor *matrix(struct model *m, size_t i, const char *name, size_t inputs, size_t outputs)
{
    return of_same_type(m, need(&m->folder, outputs, inputs, "model.layers.%zu.%s.weight", i, name));
}

static struct fovea_linear linear(struct model *m, size_t i, const char *name, size_t inputs, size_t outputs)
{
    struct folder *const f = &m->folder;
    const void *const blob = packed(f, m->computed, matrix(m, i, name, inputs, outputs), NULL);
    return (struct fovea_linear){blob, vector(f, find(f, 0, outputs, "model.layers.%zu.%s.bias", i, name))};
}

static const float *gamma_of(struct model *m, size_t i, const char *name, size_t count)
{
    return vector(&m->folder, need(&m->folder, 0, count, "model.layers.%zu.%s.weight", i, name));
}

static void load(struct model *m)
{
    const size_t queries = m->heads * m->dim, keys = m->kv_heads * m->dim;
    struct folder *const f = &m->folder;
    m->embedding = need(f, m->tokens, m->width, "model.embed_tokens.weight");
    must(fovea_tensor_type(m->embedding, &m->type), m->embedding->name);
    m->computed = m->computed == FOVEA_S8 ? FOVEA_S8 : m->type;
    for (size_t i = 0; i < m->layers; i++) {
        struct fovea_layer_weights *const w = &m->layer[i];
        w->norm1.gamma = gamma_of(m, i, "input_layernorm", m->width);
        w->self_attention.q = linear(m, i, "self_attn.q_proj", m->width, queries);
        w->self_attention.k = linear(m, i, "self_attn.k_proj", m->width, keys);
        w->self_attention.v = linear(m, i, "self_attn.v_proj", m->width, keys);
        if (m->qk_norm) {
            w->self_attention.q_norm = gamma_of(m, i, "self_attn.q_norm", m->dim);
            w->self_attention.k_norm = gamma_of(m, i, "self_attn.k_norm", m->dim);
        }
        w->self_attention.o = linear(m, i, "self_attn.o_proj", queries, m->width);
        w->norm3.gamma = gamma_of(m, i, "post_attention_layernorm", m->width); // norm2 is that of cross-attention
        w->up.weight = packed(f, m->computed, matrix(m, i, "mlp.gate_proj", m->width, m->ffn),
                              matrix(m, i, "mlp.up_proj", m->width, m->ffn));
        w->down = linear(m, i, "mlp.down_proj", m->ffn, m->width);
    }
    m->norm = vector(f, need(f, 0, m->width, "model.norm.weight"));
    const int tied = is(f, "tie_word_embeddings", "true"); // small models have one matrix for both, some files it twice
    const struct fovea_tensor *const head = (tied ? find : need)(f, m->tokens, m->width, "lm_head.weight");
    m->head = packed(f, m->computed, tied ? m->embedding : of_same_type(m, head), NULL);
    const struct fovea_tensor *const more = unused(f);
    if (more)
        fail(more->name, "is left over: a model of another family, or its files twice");
}

// Cosines and sines of each position. Llama 3.1 and later stretch slow rotations (rope_type "llama3").
static void make_positions(struct model *m, size_t positions)
{
    const struct folder *const f = &m->folder;
    const double pi = 3.14159265358979323846, theta = number(f, "rope_theta", 10000), factor = number(f, "factor", 1);
    const double low = number(f, "low_freq_factor", 1), high = number(f, "high_freq_factor", 4);
    const double context = number(f, "original_max_position_embeddings", 8192);
    const int stretched = is(f, "rope_type", "\"llama3\"");
    if (!stretched && !is(f, "rope_type", "\"default\"") && (value_of(f, "rope_type") || is(f, "rope_scaling", "{")))
        fail("rope_type", "neither default nor llama3");
    const size_t pairs = m->dim / 2;
    m->cos = keep(&m->folder, positions * pairs * sizeof(float));
    m->sin = keep(&m->folder, positions * pairs * sizeof(float));
    for (size_t c = 0; c < pairs; c++) {
        double frequency = pow(theta, -2.0 * (double)c / (double)m->dim);
        if (stretched) { // by turns within the context of training: all of `high` stay, of `low` are stretched
            const double stays = (context * frequency / (2 * pi) - low) / (high - low);
            frequency *= stays >= 1 ? 1 : stays <= 0 ? 1 / factor : stays + (1 - stays) / factor;
        }
        for (size_t p = 0; p < positions; p++) {
            m->cos[p * pairs + c] = (float)cos((double)p * frequency);
            m->sin[p * pairs + c] = (float)sin((double)p * frequency);
        }
    }
}

static void make_plans(struct model *m, size_t len)
{
    struct folder *const f = &m->folder;
    const float eps = (float)number(f, "rms_norm_eps", 1e-6);
    const double window = is(f, "model_type", "\"mistral\"") ? number(f, "sliding_window", 0) : 0;
    struct fovea_layer_desc desc;
    must(fovea_layer_desc_init(&desc, sizeof desc), "desc");
    desc.causal = desc.cached = desc.gated = 1;
    desc.norm = FOVEA_NORM_PRE;
    desc.norm_kind = FOVEA_NORM_RMS;
    desc.activation = FOVEA_ACTIVATION_SILU;
    desc.eps = eps;
    desc.batch = 1;
    desc.len = len < PIECE ? len : PIECE;
    desc.kv_len = desc.rotary_positions = len;
    desc.width = m->width;
    desc.ffn = m->ffn;
    desc.heads = m->heads;
    desc.kv_heads = m->kv_heads;
    desc.qk_dim = desc.v_dim = desc.rotary_dim = m->dim;
    desc.qk_norm = (uint32_t)m->qk_norm;
    desc.window_left = window >= 1 ? (size_t)window - 1 : FOVEA_WINDOW_ALL;
    desc.weight_type = m->computed;
    desc.kv_type = m->type;
    struct fovea_rowwise_desc norm = FOVEA_ROWWISE_DESC_INIT;
    norm.op = FOVEA_ROWWISE_RMSNORM;
    norm.rows = 1;
    norm.cols = norm.ldx = norm.ldy = m->width;
    norm.eps = eps;
    struct fovea_gemm_desc head = FOVEA_GEMM_DESC_INIT;
    head.b_packed = 1;
    head.b_type = m->computed;
    head.m = 1;
    head.k = head.lda = m->width;
    head.n = head.ldc = m->tokens;
    m->plan = keep(f, fovea_layer_plan_size());
    m->last_norm = keep(f, fovea_rowwise_plan_size());
    m->product = keep(f, fovea_gemm_plan_size());
    char text[FOVEA_EXPLAIN_BYTES];
    if (fovea_layer_plan(m->engine, &desc, m->plan) != FOVEA_OK) {
        fovea_explain_layer(m->engine, &desc, text, sizeof text);
        fail("plan", text);
    }
    must(fovea_rowwise_plan(m->engine, &norm, m->last_norm), "plan of the last norm");
    must(fovea_gemm_plan(m->engine, &head, m->product), "plan of the head");
    const struct fovea_work *const a = m->plan, *const b = m->product; // the norm needs no memory
    const size_t scratch = a->scratch_bytes > b->scratch_bytes ? a->scratch_bytes : b->scratch_bytes;
    m->shared = keep(f, a->shared_bytes > b->shared_bytes ? a->shared_bytes : b->shared_bytes);
    m->scratch = keep(f, m->executor.workers * scratch);
    m->x = keep(f, desc.len * m->width * sizeof *m->x);
}

static void make_caches(struct model *m, size_t len)
{
    for (size_t i = 0; i < m->layers; i++) {
        struct fovea_kv_cache *const cache = &m->cache[i];
        *cache = (struct fovea_kv_cache){.struct_size = sizeof *cache,
                                         .batch = 1,
                                         .kv_heads = m->kv_heads,
                                         .capacity = len,
                                         .qk_dim = m->dim,
                                         .v_dim = m->dim,
                                         .type = m->type};
        size_t k, v;
        must(fovea_kv_cache_size(cache, &k, &v), "cache");
        cache->k = keep(&m->folder, k * fovea_type_bytes(m->type));
        cache->v = keep(&m->folder, v * fovea_type_bytes(m->type));
    }
}

// Appends at most PIECE tokens to the `before` that there are. logits: of the token that comes next, or NULL.
static void append(struct model *m, const uint32_t *tokens, size_t count, size_t before, float *logits)
{
    const struct fovea_executor *const executor = m->executor.workers > 1 ? &m->executor : NULL;
    for (size_t i = 0; i < count; i++)
        must(fovea_tensor_f32(m->engine, m->embedding, tokens[i] * m->width, m->width, m->x + i * m->width), "token");
    for (size_t i = 0; i < m->layers; i++) {
        const struct fovea_layer_args args = {.weights = &m->layer[i],
                                              .x = m->x,
                                              .y = m->x,
                                              .batch = 1,
                                              .len = count,
                                              .position = before,
                                              .self_cache = &m->cache[i],
                                              .rotary_cos = m->cos,
                                              .rotary_sin = m->sin};
        must(fovea_layer(m->plan, &args, m->shared, m->scratch, executor), "layer");
    }
    if (logits) {
        float *const last = m->x + (count - 1) * m->width;
        const struct fovea_rowwise_args norm = {.x = last, .gamma = m->norm, .y = last, .rows = 1};
        must(fovea_rowwise(m->last_norm, &norm, NULL, NULL, NULL), "last norm");
        const struct fovea_gemm_args head = {.a = last, .b = m->head, .c = logits, .m = 1};
        must(fovea_gemm(m->product, &head, m->shared, m->scratch, executor), "head");
    }
}

static uint32_t likeliest(const float *logits, size_t count)
{
    size_t best = 0;
    for (size_t t = 1; t < count; t++)
        best = logits[t] > logits[best] ? t : best;
    return (uint32_t)best;
}

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Digits and nothing else; SIZE_MAX, which no model has of anything, else.
static size_t digits(const char *text)
{
    char *end;
    const size_t value = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' ? value : SIZE_MAX;
}

// The tokens of the command line or, without any, of standard input.
static size_t read_prompt(const struct model *m, char **words, size_t count, uint32_t **tokens)
{
    size_t len = 0, room = 0;
    char word[32];
    for (*tokens = NULL; count != 0 ? len < count : scanf("%31s", word) == 1; len++) {
        const char *const text = count != 0 ? words[len] : word;
        const size_t token = digits(text);
        if (token >= m->tokens)
            fail(text, "not the number of a token");
        if (len == room) {
            room = 2 * room + 64;
            *tokens = realloc(*tokens, room * sizeof **tokens);
            if (!*tokens)
                fail("memory", "not enough");
        }
        (*tokens)[len] = (uint32_t)token;
    }
    if (len == 0)
        fail("tokens", "none are given");
    return len;
}

int main(int argc, char **argv)
{
    const char *const program = argv[0];
    const int s8 = argc > 1 && strcmp(argv[1], "--s8") == 0;
    argc -= s8;
    argv += s8;
    const size_t most = argc < 3 ? SIZE_MAX : digits(argv[2]);
    if (most == 0 || most > 1 << 20) {
        fprintf(stderr, "usage: %s [--s8] FOLDER COUNT [TOKEN...]\n", program);
        return 2;
    }
    struct model m = {.executor = {.workers = 1}, .computed = s8 ? FOVEA_S8 : FOVEA_F32};
#ifdef _OPENMP
    must(fovea_openmp_executor(omp_get_max_threads(), &m.executor), "OpenMP");
#endif
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = m.executor.workers;
    must(fovea_engine_create(&options, &m.engine), "engine");
    open_folder(m.engine, argv[1], &m.folder);
    read_config(&m);
    uint32_t *prompt;
    const size_t len = read_prompt(&m, argv + 3, (size_t)argc - 3, &prompt);
    load(&m);
    make_positions(&m, len + most);
    make_plans(&m, len + most);
    make_caches(&m, len + most);

    float *const logits = keep(&m.folder, m.tokens * sizeof *logits);
    const double begin = now();
    for (size_t done = 0, count; done < len; done += count) {
        count = len - done < PIECE ? len - done : PIECE;
        append(&m, prompt + done, count, done, done + count == len ? logits : NULL);
    }
    const double prompted = now();
    size_t made = 0;
    for (uint32_t token = likeliest(logits, m.tokens);; token = likeliest(logits, m.tokens)) {
        printf("%s%u", made == 0 ? "" : " ", (unsigned)token);
        fflush(stdout);
        if (++made == most || ends(&m.folder, token))
            break;
        append(&m, &token, 1, len + made - 1, logits);
    }
    const double end = now();
    puts("");
    fprintf(stderr, "%zu tokens read, %.1f a second; %zu written, %.1f a second\n", len,
            (double)len / (prompted - begin), made, made == 1 ? 0 : (double)(made - 1) / (end - prompted));
    free(prompt);
    close_folder(&m.folder);
    fovea_engine_destroy(m.engine);
    return 0;
}
