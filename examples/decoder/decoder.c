// SPDX-License-Identifier: Apache-2.0
// examples/decoder/decoder.c - a decoder-only model (RMSNorm first, SwiGLU, grouped queries, rotary positions) of
// made-up weights continues two prompts of different lengths: each prompt at once, then both together token by token
// with one cache per layer, and each all at once again: the same tokens and bits.
//
//     cc decoder.c $(pkg-config --cflags --libs fovea) -lm && ./a.out
#include <fovea/fovea.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, WIDTH = 192, HEADS = 6, KV_HEADS = 2, DIM = 32, FFN = 512, TOKENS = 1000 };
enum { SEQUENCES = 2, LEN = 60 };   // sequences, and the most tokens of one
enum { BLOCKS = 10 * LAYERS + 10 }; // of memory: of a layer, and of all else

static void must(enum fovea_status status, const char *what)
{
    if (status != FOVEA_OK) {
        fprintf(stderr, "%s: %s\n", what, fovea_status_string(status));
        exit(1);
    }
}

struct model {
    struct fovea_engine *engine;
    struct fovea_layer_weights layers[LAYERS];
    struct fovea_kv_cache caches[LAYERS];
    struct fovea_linear head; // logits of a row
    struct fovea_norm norm;   // before the head
    float *embedding, *cos, *sin;
    struct fovea_work *layer, *last, *product; // plans: one serves all layers; the last norm; the head
    void *shared, *scratch;
    void *kept[BLOCKS]; // memory to free
    size_t blocks;
};

// Memory of the model, until release().
static void *keep(struct model *model, size_t bytes)
{
    void *const memory = model->blocks < BLOCKS ? aligned_alloc(64, (bytes + 64) / 64 * 64) : NULL;
    if (!memory)
        exit(1);
    return model->kept[model->blocks++] = memory;
}

// Made-up numbers; those of a trained model come from a file: fovea/safetensors.h.
static void make_up(float *values, size_t count, float scale)
{
    static uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        values[i] = scale * ((float)(state >> 8) / (1 << 23) - 1);
    }
}

static float *some(struct model *model, size_t count)
{
    float *const values = keep(model, count * sizeof *values);
    make_up(values, count, 1);
    return values;
}

// A blob has all that is needed of a weight.
static struct fovea_linear linear(struct model *model, size_t inputs, size_t outputs)
{
    size_t bytes;
    must(fovea_pack_size(inputs, outputs, &bytes), "pack size");
    void *const blob = keep(model, bytes);
    float *const weight = malloc(outputs * inputs * sizeof *weight);
    if (!weight)
        exit(1);
    make_up(weight, outputs * inputs, 1.7f / sqrtf((float)inputs));
    must(fovea_pack(model->engine, FOVEA_TRANS, inputs, outputs, weight, inputs, blob, bytes), "pack");
    free(weight);
    return (struct fovea_linear){.weight = blob};
}

static void plan(struct model *model)
{
    struct fovea_layer_desc desc;
    must(fovea_layer_desc_init(&desc, sizeof desc), "desc");
    desc.causal = desc.cached = desc.gated = 1;
    desc.norm = FOVEA_NORM_PRE;
    desc.norm_kind = FOVEA_NORM_RMS;
    desc.activation = FOVEA_ACTIVATION_SILU;
    desc.batch = SEQUENCES;
    desc.len = desc.kv_len = desc.rotary_positions = LEN; // any call of up to so many
    desc.width = WIDTH;
    desc.ffn = FFN;
    desc.heads = HEADS;
    desc.kv_heads = KV_HEADS;
    desc.qk_dim = desc.v_dim = desc.rotary_dim = DIM;
    struct fovea_rowwise_desc last = FOVEA_ROWWISE_DESC_INIT; // what pre-norm layers leave is not normalised
    last.op = FOVEA_ROWWISE_RMSNORM;
    last.rows = SEQUENCES;
    last.cols = last.ldx = last.ldy = WIDTH;
    struct fovea_gemm_desc head = FOVEA_GEMM_DESC_INIT;
    head.b_packed = 1;
    head.m = SEQUENCES;
    head.k = head.lda = WIDTH;
    head.n = head.ldc = TOKENS;
    model->layer = keep(model, fovea_layer_plan_size());
    model->last = keep(model, fovea_rowwise_plan_size());
    model->product = keep(model, fovea_gemm_plan_size());
    must(fovea_layer_plan(model->engine, &desc, model->layer), "plan of a layer");
    must(fovea_rowwise_plan(model->engine, &last, model->last), "plan of the last norm");
    must(fovea_gemm_plan(model->engine, &head, model->product), "plan of the head");
    char text[FOVEA_EXPLAIN_BYTES];
    must(fovea_explain_layer(model->engine, &desc, text, sizeof text), "explain");
    puts(text);
    const struct fovea_work *const a = model->layer, *const b = model->product; // the norm needs no memory
    model->shared = keep(model, a->shared_bytes > b->shared_bytes ? a->shared_bytes : b->shared_bytes);
    model->scratch = keep(model, a->scratch_bytes > b->scratch_bytes ? a->scratch_bytes : b->scratch_bytes);
}

static void make(struct model *model)
{
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = 1; // all in this thread
    *model = (struct model){.blocks = 0};
    must(fovea_engine_create(&options, &model->engine), "engine");
    plan(model);
    for (int i = 0; i < LAYERS; i++) {
        struct fovea_layer_weights *const w = &model->layers[i];
        *w = (struct fovea_layer_weights){.norm1.gamma = some(model, WIDTH), .norm3.gamma = some(model, WIDTH)};
        w->up = linear(model, WIDTH, 2 * FFN); // of a real model: fovea_pack_gated
        w->down = linear(model, FFN, WIDTH);
        w->self_attention.q = linear(model, WIDTH, HEADS * DIM);
        w->self_attention.k = linear(model, WIDTH, KV_HEADS * DIM);
        w->self_attention.v = linear(model, WIDTH, KV_HEADS * DIM);
        w->self_attention.o = linear(model, HEADS * DIM, WIDTH);
        struct fovea_kv_cache *const cache = &model->caches[i];
        *cache = (struct fovea_kv_cache){.struct_size = sizeof *cache,
                                         .batch = SEQUENCES,
                                         .kv_heads = KV_HEADS,
                                         .capacity = LEN,
                                         .qk_dim = DIM,
                                         .v_dim = DIM};
        size_t k, v;
        must(fovea_kv_cache_size(cache, &k, &v), "cache");
        cache->k = keep(model, k * sizeof(float));
        cache->v = keep(model, v * sizeof(float));
    }
    model->norm.gamma = some(model, WIDTH);
    model->head = linear(model, WIDTH, TOKENS);
    model->embedding = some(model, TOKENS * WIDTH);
    model->cos = keep(model, LEN * DIM / 2 * sizeof(float));
    model->sin = keep(model, LEN * DIM / 2 * sizeof(float));
    for (int i = 0; i < LEN * DIM / 2; i++) {
        const double angle = i / (DIM / 2) * pow(10000, -2.0 * (i % (DIM / 2)) / DIM);
        model->cos[i] = (float)cos(angle);
        model->sin[i] = (float)sin(angle);
    }
}

static void release(struct model *model)
{
    while (model->blocks != 0)
        free(model->kept[--model->blocks]);
    fovea_engine_destroy(model->engine);
}

// The part of a cache that belongs to one sequence and those after it, as a cache of its own.
static struct fovea_kv_cache cache_from(const struct fovea_kv_cache *all, size_t first)
{
    struct fovea_strides k, v;
    must(fovea_kv_cache_strides(all, &k, &v), "cache");
    struct fovea_kv_cache cache = *all;
    cache.batch -= first;
    cache.k = (float *)all->k + first * k.batch;
    cache.v = (float *)all->v + first * v.batch;
    return cache;
}

// Appends `len` tokens to each of `batch` sequences from number `first` on, which so far have as many as `positions`
// says, and writes the logits of the tokens that come next.
static void append(const struct model *model, size_t first, size_t batch, const int *tokens, size_t len,
                   const size_t *positions, float *logits)
{
    static float x[SEQUENCES * LEN * WIDTH], last[SEQUENCES * WIDTH];
    for (size_t i = 0; i < batch * len; i++)
        memcpy(x + i * WIDTH, model->embedding + tokens[i] * WIDTH, WIDTH * sizeof *x);
    for (int i = 0; i < LAYERS; i++) {
        const struct fovea_kv_cache cache = cache_from(&model->caches[i], first);
        const struct fovea_layer_args args = {.weights = &model->layers[i],
                                              .x = x,
                                              .y = x,
                                              .batch = batch,
                                              .len = len,
                                              .positions = positions,
                                              .self_cache = &cache,
                                              .rotary_cos = model->cos,
                                              .rotary_sin = model->sin};
        must(fovea_layer(model->layer, &args, model->shared, model->scratch, NULL), "layer");
    }
    for (size_t b = 0; b < batch; b++)
        memcpy(last + b * WIDTH, x + (b * len + len - 1) * WIDTH, WIDTH * sizeof *last);
    const struct fovea_rowwise_args norm = {.x = last, .gamma = model->norm.gamma, .y = last, .rows = batch};
    must(fovea_rowwise(model->last, &norm, NULL, NULL, NULL), "last norm");
    const struct fovea_gemm_args head = {.a = last, .b = model->head.weight, .c = logits, .m = batch};
    must(fovea_gemm(model->product, &head, model->shared, model->scratch, NULL), "head");
}

static int likeliest(const float *logits)
{
    int best = 0;
    for (int t = 1; t < TOKENS; t++)
        best = logits[t] > logits[best] ? t : best;
    return best;
}

int main(void)
{
    static const size_t prompts[SEQUENCES] = {20, 7}, start = 0;
    static float logits[SEQUENCES][TOKENS], at_once[TOKENS];
    static int tokens[SEQUENCES][LEN + 1];
    struct model model;
    make(&model);
    size_t positions[SEQUENCES];
    for (size_t s = 0; s < SEQUENCES; s++) {
        for (size_t i = 0; i < prompts[s]; i++)
            tokens[s][i] = (int)(i * 37 + s) % TOKENS;
        append(&model, s, 1, tokens[s], prompts[s], &start, logits[s]);
        positions[s] = prompts[s];
        tokens[s][positions[s]] = likeliest(logits[s]);
    }
    while (positions[0] < LEN) { // the longest
        int last[SEQUENCES];
        for (size_t s = 0; s < SEQUENCES; s++)
            last[s] = tokens[s][positions[s]];
        append(&model, 0, SEQUENCES, last, 1, positions, logits[0]);
        for (size_t s = 0; s < SEQUENCES; s++)
            tokens[s][++positions[s]] = likeliest(logits[s]);
    }
    int same = 1;
    for (size_t s = 0; s < SEQUENCES; s++) {
        for (size_t i = prompts[s]; i <= positions[s]; i++)
            printf("%d ", tokens[s][i]);
        append(&model, s, 1, tokens[s], positions[s], &start, at_once);
        same &= memcmp(logits[s], at_once, sizeof at_once) == 0;
        puts("");
    }
    printf("together token by token, and each at once: %s\n", same ? "the same bits" : "other bits");
    release(&model);
    return !same;
}
