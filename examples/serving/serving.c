// SPDX-License-Identifier: Apache-2.0
// examples/serving/serving.c - continuous batching: a decoder-only model of made-up weights serves requests that arrive
// over time. A step is one call of each layer, of at most BUDGET rows: the newest token of each sequence, and of
// waiting prompts as much as there is room for. Keys are in pages, given back when a sequence ends. Each sequence has
// the tokens and bits that it has when requests are served one after another.
//
//     cc serving.c $(pkg-config --cflags --libs fovea) -lm && ./a.out
//     ./a.out --kv bf16        # or f16: keys and values of 16 bits, in half of the memory
#include <fovea/fovea.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 2, WIDTH = 96, HEADS = 6, KV_HEADS = 2, DIM = 16, FFN = 256, TOKENS = 500 };
enum { SEQUENCES = 6, BUDGET = 64, LEN = 160 }; // of one step; the most tokens of a sequence
enum { BLOCKS = 10 * LAYERS + 10 };             // of memory: of a layer, and of all else
enum { PAGE = 16, TABLE = LEN / PAGE, PAGES = 24, REQUESTS = 10, ANSWER = 24 };

// The step in which a request arrives, and the tokens of its prompt and of its answer.
static const struct {
    size_t arrival, prompt, answer;
} requests[REQUESTS] = {{0, 90, 20}, {0, 7, 24}, {1, 41, 12}, {2, 130, 16}, {6, 3, 24},
                        {7, 64, 8},  {9, 1, 18}, {9, 100, 9}, {15, 28, 14}, {22, 17, 10}};

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
    struct fovea_kv_pages pools[LAYERS]; // a sequence has pages of the same numbers in each
    struct fovea_linear head;            // logits of a row
    struct fovea_norm norm;              // before the head
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

static void plan(struct model *model, enum fovea_type type)
{
    struct fovea_layer_desc desc;
    must(fovea_layer_desc_init(&desc, sizeof desc), "desc");
    desc.causal = desc.cached = 1;
    desc.norm = FOVEA_NORM_PRE;
    desc.activation = FOVEA_ACTIVATION_SILU;
    desc.batch = SEQUENCES;
    desc.len = desc.rows = BUDGET; // memory for so many rows, whosever they are, not for SEQUENCES * BUDGET
    desc.kv_len = desc.rotary_positions = LEN;
    desc.page_keys = PAGE;
    desc.kv_type = type;
    desc.width = WIDTH;
    desc.ffn = FFN;
    desc.heads = HEADS;
    desc.kv_heads = KV_HEADS;
    desc.qk_dim = desc.v_dim = desc.rotary_dim = DIM;
    struct fovea_rowwise_desc last = FOVEA_ROWWISE_DESC_INIT; // what pre-norm layers leave is not normalised
    last.op = FOVEA_ROWWISE_LAYERNORM;
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
    const struct fovea_work *const a = model->layer, *const b = model->product; // the norm needs no memory
    model->shared = keep(model, a->shared_bytes > b->shared_bytes ? a->shared_bytes : b->shared_bytes);
    model->scratch = keep(model, a->scratch_bytes > b->scratch_bytes ? a->scratch_bytes : b->scratch_bytes);
}

// Returns the bytes of all keys and values.
static size_t make(struct model *model, enum fovea_type type)
{
    size_t bytes = 0;
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = 1; // all in this thread
    *model = (struct model){.blocks = 0};
    must(fovea_engine_create(&options, &model->engine), "engine");
    plan(model, type);
    for (int i = 0; i < LAYERS; i++) {
        struct fovea_layer_weights *const w = &model->layers[i];
        *w = (struct fovea_layer_weights){.norm1.gamma = some(model, WIDTH), .norm3.gamma = some(model, WIDTH)};
        w->up = linear(model, WIDTH, FFN);
        w->down = linear(model, FFN, WIDTH);
        w->self_attention.q = linear(model, WIDTH, HEADS * DIM);
        w->self_attention.k = linear(model, WIDTH, KV_HEADS * DIM);
        w->self_attention.v = linear(model, WIDTH, KV_HEADS * DIM);
        w->self_attention.o = linear(model, HEADS * DIM, WIDTH);
        struct fovea_kv_pages *const pool = &model->pools[i];
        *pool = (struct fovea_kv_pages){.struct_size = sizeof *pool, .page_keys = PAGE, .pages = PAGES};
        pool->kv_heads = KV_HEADS;
        pool->qk_dim = pool->v_dim = DIM;
        pool->type = type;
        size_t k, v;
        must(fovea_kv_pages_size(pool, &k, &v), "pages");
        pool->k = keep(model, k * fovea_type_bytes(type));
        pool->v = keep(model, v * fovea_type_bytes(type));
        bytes += (k + v) * fovea_type_bytes(type);
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
    return bytes;
}

static void release(struct model *model)
{
    while (model->blocks != 0)
        free(model->kept[--model->blocks]);
    fovea_engine_destroy(model->engine);
}

struct sequence {
    size_t prompt, end, known, done; // tokens: of its prompt, at its end, there by now, with keys in the pages
    int tokens[LEN];
    uint32_t table[TABLE];
    float logits[ANSWER][TOKENS]; // of each token of the answer
};

// The next rows of some sequences, a sequence behind another.
struct step {
    size_t batch, positions[SEQUENCES];
    uint32_t starts[SEQUENCES + 1], tables[SEQUENCES][TABLE];
    struct sequence *sequences[SEQUENCES];
};

static void add(struct step *step, struct sequence *s)
{
    const size_t b = step->batch, wanted = s->known - s->done, room = BUDGET - step->starts[b];
    if (room == 0)
        return;
    step->sequences[b] = s;
    step->positions[b] = s->done;
    memcpy(step->tables[b], s->table, sizeof s->table);
    step->starts[b + 1] = step->starts[b] + (uint32_t)(wanted < room ? wanted : room);
    step->batch++;
}

static int likeliest(const float *logits)
{
    int best = 0;
    for (int t = 1; t < TOKENS; t++)
        best = logits[t] > logits[best] ? t : best;
    return best;
}

// One call of each layer, and one of the head for the sequences that get a token.
static void compute(const struct model *model, const struct step *step)
{
    static float x[BUDGET * WIDTH], last[SEQUENCES * WIDTH], logits[SEQUENCES][TOKENS];
    struct sequence *next[SEQUENCES];
    size_t count = 0;
    for (size_t b = 0; b < step->batch; b++) {
        struct sequence *const s = step->sequences[b];
        for (size_t row = step->starts[b]; row < step->starts[b + 1]; row++)
            memcpy(x + row * WIDTH, model->embedding + s->tokens[s->done++] * WIDTH, WIDTH * sizeof *x);
    }
    for (int i = 0; i < LAYERS; i++) {
        const struct fovea_layer_args args = {.weights = &model->layers[i],
                                              .x = x,
                                              .y = x,
                                              .batch = step->batch,
                                              .len = BUDGET,
                                              .starts = step->starts,
                                              .positions = step->positions,
                                              .self_pool = &model->pools[i],
                                              .pages = step->tables[0],
                                              .pages_batch = TABLE,
                                              .rotary_cos = model->cos,
                                              .rotary_sin = model->sin};
        must(fovea_layer(model->layer, &args, model->shared, model->scratch, NULL), "layer");
    }
    for (size_t b = 0; b < step->batch; b++)
        if (step->sequences[b]->done == step->sequences[b]->known) {
            memcpy(last + count * WIDTH, x + (step->starts[b + 1] - 1) * WIDTH, WIDTH * sizeof *last);
            next[count++] = step->sequences[b];
        }
    const struct fovea_rowwise_args norm = {.x = last, .gamma = model->norm.gamma, .y = last, .rows = count};
    must(fovea_rowwise(model->last, &norm, NULL, NULL, NULL), "last norm");
    const struct fovea_gemm_args head = {.a = last, .b = model->head.weight, .c = logits[0], .m = count};
    must(fovea_gemm(model->product, &head, model->shared, model->scratch, NULL), "head");
    for (size_t i = 0; i < count; i++) {
        memcpy(next[i]->logits[next[i]->known - next[i]->prompt], logits[i], sizeof logits[i]);
        next[i]->tokens[next[i]->known++] = likeliest(logits[i]);
    }
}

// A letter is a row, and a capital one gives a token.
static void draw(const struct step *step, const struct sequence *all, size_t now, size_t pages)
{
    printf("%4zu  %2zu pages  ", now, pages);
    for (size_t b = 0; b < step->batch; b++) {
        const struct sequence *const s = step->sequences[b];
        for (uint32_t row = step->starts[b] + 1; row <= step->starts[b + 1]; row++)
            putchar((row == step->starts[b + 1] && s->done >= s->prompt ? 'A' : 'a') + (int)(s - all));
    }
    puts("");
}

// Serves all requests, at most so many at a time. Returns the number of steps.
static size_t serve(const struct model *model, struct sequence *all, size_t most, int drawn)
{
    uint32_t spare[PAGES];
    size_t spares, begun = 0, ended = 0, steps = 0;
    for (spares = 0; spares < PAGES; spares++)
        spare[spares] = (uint32_t)spares;
    for (size_t now = 0; ended < REQUESTS; now++) {
        for (; begun < REQUESTS && requests[begun].arrival <= now && begun - ended < most; begun++) {
            const size_t end = requests[begun].prompt + requests[begun].answer, pages = (end + PAGE - 1) / PAGE;
            if (pages > spares) // it takes all that it will need, so that none has to wait halfway
                break;
            struct sequence *const s = &all[begun];
            s->prompt = s->known = requests[begun].prompt;
            s->end = end;
            for (size_t i = 0; i < pages; i++)
                s->table[i] = spare[--spares];
            for (size_t i = 0; i < s->prompt; i++)
                s->tokens[i] = (int)(i * 37 + begun * 11) % TOKENS;
        }
        struct step step = {0};
        for (int prompts = 0; prompts < 2; prompts++) // after the single tokens
            for (size_t i = 0; i < begun; i++)
                if (all[i].known < all[i].end && (all[i].done < all[i].prompt) == prompts)
                    add(&step, &all[i]);
        if (step.batch == 0)
            continue; // none has arrived
        compute(model, &step);
        steps++;
        if (drawn)
            draw(&step, all, now, PAGES - spares);
        for (size_t b = 0; b < step.batch; b++)
            if (step.sequences[b]->known == step.sequences[b]->end) {
                for (size_t key = 0; key < step.sequences[b]->end; key += PAGE)
                    spare[spares++] = step.sequences[b]->table[key / PAGE];
                ended++;
            }
    }
    return steps;
}

static const char *const types[] = {[FOVEA_F32] = "f32", [FOVEA_BF16] = "bf16", [FOVEA_F16] = "f16"};

static enum fovea_type asked(int argc, char **argv)
{
    if (argc == 1)
        return FOVEA_F32;
    for (int type = FOVEA_F32; type <= FOVEA_F16 && argc == 3 && strcmp(argv[1], "--kv") == 0; type++)
        if (strcmp(argv[2], types[type]) == 0)
            return (enum fovea_type)type;
    fprintf(stderr, "usage: %s [--kv f32|bf16|f16]\n", argv[0]);
    exit(2);
}

int main(int argc, char **argv)
{
    static struct sequence together[REQUESTS], alone[REQUESTS];
    const enum fovea_type type = asked(argc, argv);
    struct model model;
    const size_t bytes = make(&model, type);
    printf("keys and values of %s: %d pages of %d keys in %d layers, %zu KiB\n", types[type], PAGES, PAGE, LAYERS,
           bytes / 1024);
    const size_t steps = serve(&model, together, SEQUENCES, 1), apart = serve(&model, alone, 1, 0);
    size_t rows = 0;
    int same = 1;
    for (size_t i = 0; i < REQUESTS; i++) {
        rows += together[i].done;
        same &= memcmp(together[i].tokens, alone[i].tokens, sizeof alone[i].tokens) == 0;
        same &= memcmp(together[i].logits, alone[i].logits, sizeof alone[i].logits) == 0;
    }
    printf("%zu rows of %d requests in %zu calls of a layer, one after another in %zu: %s\n", rows, REQUESTS, steps,
           apart, same ? "the same tokens and bits" : "others");
    release(&model);
    return !same;
}
