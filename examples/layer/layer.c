// SPDX-License-Identifier: Apache-2.0
// examples/layer/layer.c - an encoder layer (RMSNorm first, SwiGLU) over two sequences of different lengths, in one
// thread and on threads of its own: the same bits.
//
//     cc layer.c $(pkg-config --cflags --libs fovea) -pthread && ./a.out
#include <fovea/fovea.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, LEN = 60, WIDTH = 192, HEADS = 3, DIM = 64, FFN = 512, THREADS = 4 };

static float x[BATCH * LEN * WIDTH], alone[BATCH * LEN * WIDTH], together[BATCH * LEN * WIDTH];

static void must(enum fovea_status status, const char *what)
{
    if (status != FOVEA_OK) {
        fprintf(stderr, "%s: %s\n", what, fovea_status_string(status));
        exit(1);
    }
}

static void *take(size_t bytes)
{
    void *const memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!memory)
        exit(1);
    return memory;
}

// An executor: tasks are handed out one by one. One that is called often would keep its threads.

struct loop {
    atomic_uint next, workers;
    uint32_t count;
    void (*body)(void *arg, uint32_t task, uint32_t worker);
    void *arg;
};

static void *work(void *arg)
{
    struct loop *const loop = arg;
    const uint32_t worker = atomic_fetch_add(&loop->workers, 1);
    for (uint32_t task; (task = atomic_fetch_add(&loop->next, 1)) < loop->count;)
        loop->body(loop->arg, task, worker);
    return NULL;
}

static void parallel_for(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                         void *arg)
{
    struct loop loop = {.count = count, .body = body, .arg = arg};
    pthread_t threads[THREADS];
    uint32_t started = 0;
    (void)state;
    while (started + 1 < THREADS && started + 1 < count && pthread_create(&threads[started], NULL, work, &loop) == 0)
        started++;
    work(&loop); // this thread is a worker, too
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

// Weights. Those of a trained model come from a file: fovea/safetensors.h.

static float *some(size_t count, int seed)
{
    float *const values = take(count * sizeof(float));
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((i * 37 + (size_t)seed) % 61) / 500 - 0.06f;
    return values;
}

// A Linear's weight is [outputs, inputs], packed once.
static struct fovea_linear linear(const struct fovea_engine *engine, size_t inputs, size_t outputs, int seed)
{
    size_t bytes;
    must(fovea_pack_size(inputs, outputs, &bytes), "pack size");
    float *const weight = some(outputs * inputs, seed);
    void *const blob = take(bytes);
    must(fovea_pack(engine, FOVEA_TRANS, inputs, outputs, weight, inputs, blob, bytes), "pack");
    free(weight);
    return (struct fovea_linear){.weight = blob, .bias = NULL};
}

// Two Linears in one product: gate and value side by side.
static struct fovea_linear gated(const struct fovea_engine *engine, size_t inputs, size_t outputs)
{
    size_t bytes;
    must(fovea_pack_size(inputs, 2 * outputs, &bytes), "pack size");
    float *const gate = some(outputs * inputs, 5), *const value = some(outputs * inputs, 6);
    void *const blob = take(bytes);
    must(fovea_pack_gated(engine, FOVEA_TRANS, inputs, outputs, gate, inputs, value, inputs, blob, bytes), "pack");
    free(gate);
    free(value);
    return (struct fovea_linear){.weight = blob, .bias = NULL};
}

int main(void)
{
    for (int i = 0; i < BATCH * LEN * WIDTH; i++)
        x[i] = (float)(i * 7 % 31 - 15) / 16;
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = THREADS; // what plans cut their tasks for
    struct fovea_engine *engine;
    must(fovea_engine_create(&options, &engine), "engine");

    struct fovea_layer_desc desc;
    must(fovea_layer_desc_init(&desc, sizeof desc), "desc");
    desc.norm = FOVEA_NORM_PRE;
    desc.norm_kind = FOVEA_NORM_RMS;
    desc.activation = FOVEA_ACTIVATION_SILU;
    desc.gated = 1;
    desc.batch = BATCH;
    desc.len = LEN;
    desc.width = WIDTH;
    desc.heads = HEADS;
    desc.qk_dim = desc.v_dim = DIM;
    desc.ffn = FFN;
    struct fovea_work *const plan = take(fovea_layer_plan_size());
    must(fovea_layer_plan(engine, &desc, plan), "plan");
    void *const shared = take(plan->shared_bytes), *const scratch = take(THREADS * plan->scratch_bytes);
    char text[FOVEA_EXPLAIN_BYTES];
    must(fovea_explain_layer(engine, &desc, text, sizeof text), "explain");
    puts(text);

    const struct fovea_layer_weights weights = {
        .self_attention = {.q = linear(engine, WIDTH, HEADS * DIM, 1),
                           .k = linear(engine, WIDTH, HEADS * DIM, 2),
                           .v = linear(engine, WIDTH, HEADS * DIM, 3),
                           .o = linear(engine, HEADS * DIM, WIDTH, 4)},
        .up = gated(engine, WIDTH, FFN),
        .down = linear(engine, FFN, WIDTH, 7),
    };
    const uint32_t lens[BATCH] = {LEN, LEN / 2}; // the second sequence is padded
    struct fovea_layer_args args = {.weights = &weights, .x = x, .y = alone, .batch = BATCH, .len = LEN, .lens = lens};
    must(fovea_layer(plan, &args, shared, scratch, NULL), "layer");
    const struct fovea_executor executor = {.workers = THREADS, .parallel_for = parallel_for};
    args.y = together;
    must(fovea_layer(plan, &args, shared, scratch, &executor), "layer on threads");
    const int same = memcmp(alone, together, sizeof alone) == 0;
    printf("one thread and %d: %s\n", THREADS, same ? "the same bits" : "other bits");

    const struct fovea_linear *const all[] = {&weights.self_attention.q,
                                              &weights.self_attention.k,
                                              &weights.self_attention.v,
                                              &weights.self_attention.o,
                                              &weights.up,
                                              &weights.down};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free((void *)(uintptr_t)all[i]->weight);
    free(plan);
    free(shared);
    free(scratch);
    fovea_engine_destroy(engine);
    return !same;
}
