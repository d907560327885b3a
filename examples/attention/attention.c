// SPDX-License-Identifier: Apache-2.0
// examples/attention/attention.c - causal attention over a whole sequence, then token by token with a KV cache: the
// same bits both ways.
//
//     cc attention.c $(pkg-config --cflags --libs fovea) && ./a.out
#include <fovea/fovea.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, DIM = 32, LEN = 150, WIDTH = HEADS * DIM };

// As projections write them: (LEN, HEADS * DIM). A head is a stride.
static float q[LEN * WIDTH], k[LEN * WIDTH], v[LEN * WIDTH], whole[LEN * WIDTH], stepped[LEN * WIDTH];
static const struct fovea_strides rows = {LEN * WIDTH, DIM, WIDTH};

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

static struct fovea_attention_desc describe(size_t q_len)
{
    struct fovea_attention_desc desc;
    must(fovea_attention_desc_init(&desc, sizeof desc), "desc");
    desc.causal = 1;
    desc.batch = 1;
    desc.heads = desc.kv_heads = HEADS;
    desc.q_len = q_len;
    desc.kv_len = LEN;
    desc.qk_dim = desc.v_dim = DIM;
    desc.q = desc.k = desc.v = desc.out = rows;
    return desc;
}

// One token at a time: its key and value go into the cache, its query sees all keys so far.
static void step_by_step(const struct fovea_engine *engine)
{
    struct fovea_kv_cache cache = {.struct_size = sizeof cache,
                                   .batch = 1,
                                   .kv_heads = HEADS,
                                   .capacity = LEN,
                                   .qk_dim = DIM,
                                   .v_dim = DIM,
                                   .engine = engine};
    size_t k_elements, v_elements;
    must(fovea_kv_cache_size(&cache, &k_elements, &v_elements), "cache");
    cache.k = take(k_elements * sizeof(float));
    cache.v = take(v_elements * sizeof(float));

    struct fovea_attention_desc desc = describe(1);
    desc.k_layout = FOVEA_K_PANELS;
    must(fovea_kv_cache_strides(&cache, &desc.k, &desc.v), "strides");
    struct fovea_work *const plan = take(fovea_attention_plan_size());
    must(fovea_attention_plan(engine, &desc, plan), "plan");
    void *const shared = take(plan->shared_bytes), *const scratch = take(plan->scratch_bytes);
    for (size_t t = 0; t < LEN; t++) {
        must(fovea_kv_append(&cache, 0, t, 1, k + t * WIDTH, rows, v + t * WIDTH, rows), "append");
        const struct fovea_attention_args args = {.q = q + t * WIDTH,
                                                  .k = cache.k,
                                                  .v = cache.v,
                                                  .out = stepped + t * WIDTH,
                                                  .batch = 1,
                                                  .q_len = 1,
                                                  .kv_len = t + 1,
                                                  .q_offset = (int64_t)t};
        must(fovea_attention(plan, &args, shared, scratch, NULL), "attention");
    }
    free(cache.k);
    free(cache.v);
    free(plan);
    free(shared);
    free(scratch);
}

int main(void)
{
    for (int i = 0; i < LEN * WIDTH; i++) {
        q[i] = (float)(i * 7 % 31 - 15) / 16;
        k[i] = (float)(i * 5 % 29 - 14) / 16;
        v[i] = (float)(i * 3 % 23 - 11) / 16;
    }
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = 1; // all calls here are of one thread; by default plans are cut for all processors
    struct fovea_engine *engine;
    must(fovea_engine_create(&options, &engine), "engine");
    const struct fovea_attention_desc desc = describe(LEN);
    const struct fovea_attention_args args = {
        .q = q, .k = k, .v = v, .out = whole, .batch = 1, .q_len = LEN, .kv_len = LEN};
    must(fovea_attention_once(engine, &desc, &args), "attention");
    step_by_step(engine);
    const int same = memcmp(whole, stepped, sizeof whole) == 0;
    printf("%d tokens at once and one by one: %s\n", LEN, same ? "the same bits" : "other bits");
    fovea_engine_destroy(engine);
    return !same;
}
