// SPDX-License-Identifier: Apache-2.0
// examples/paged/paged.c - the attention of a server: sequences of different lengths share a pool of pages, a step has
// a part of a prompt for one and a single token for another, and heads share keys. Each sequence has the bits it has
// alone and at once.
//
//     cc paged.c $(pkg-config --cflags --libs fovea) && ./a.out
#include <fovea/fovea.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 6, KV_HEADS = 2, DIM = 32, WIDTH = HEADS * DIM, KV_WIDTH = KV_HEADS * DIM };
enum { SEQUENCES = 3, LEN = 220, PART = 64 }; // the most tokens of a sequence, and of one step
enum { PAGE = 32, TABLE = (LEN + PAGE - 1) / PAGE, PAGES = SEQUENCES * TABLE };

static const size_t prompts[SEQUENCES] = {180, 5, 70}, lens[SEQUENCES] = {200, 220, 90};
// As projections write them, a sequence after another; expected: computed alone and at once.
static float q[SEQUENCES][LEN * WIDTH], k[SEQUENCES][LEN * KV_WIDTH], v[SEQUENCES][LEN * KV_WIDTH];
static float out[SEQUENCES][LEN * WIDTH], expected[SEQUENCES][LEN * WIDTH];
static const struct fovea_strides queries = {LEN * WIDTH, DIM, WIDTH}, keys = {LEN * KV_WIDTH, DIM, KV_WIDTH};

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

static struct fovea_attention_desc describe(size_t batch, size_t q_len)
{
    struct fovea_attention_desc desc;
    must(fovea_attention_desc_init(&desc, sizeof desc), "desc");
    desc.causal = 1;
    desc.batch = batch;
    desc.heads = HEADS;
    desc.kv_heads = KV_HEADS;
    desc.q_len = q_len;
    desc.kv_len = LEN;
    desc.qk_dim = desc.v_dim = DIM;
    desc.q = desc.out = queries;
    desc.k = desc.v = keys;
    return desc;
}

struct server {
    struct fovea_kv_pages pool;
    uint32_t tables[SEQUENCES][TABLE], used; // pages that are taken so far
    size_t done[SEQUENCES];                  // tokens in the cache
    struct fovea_work *plan;
    void *shared, *scratch;
};

static void make(struct server *server, const struct fovea_engine *engine)
{
    size_t k_elements, v_elements;
    *server = (struct server){.pool = {.struct_size = sizeof server->pool,
                                       .page_keys = PAGE,
                                       .pages = PAGES,
                                       .kv_heads = KV_HEADS,
                                       .qk_dim = DIM,
                                       .v_dim = DIM,
                                       .engine = engine}};
    must(fovea_kv_pages_size(&server->pool, &k_elements, &v_elements), "pages");
    server->pool.k = take(k_elements * sizeof(float));
    server->pool.v = take(v_elements * sizeof(float));
    struct fovea_attention_desc desc = describe(SEQUENCES, PART);
    desc.k_layout = FOVEA_K_PANELS;
    desc.page_keys = PAGE;
    desc.kv_len_kind = FOVEA_KV_LEN_BATCH;
    must(fovea_kv_pages_strides(&server->pool, &desc.k, &desc.v), "strides");
    server->plan = take(fovea_attention_plan_size());
    must(fovea_attention_plan(engine, &desc, server->plan), "plan");
    server->shared = take(server->plan->shared_bytes);
    server->scratch = take(server->plan->scratch_bytes);
}

// Puts the next `count` keys and values of a sequence into its last page, and into new ones where that is full.
static void append(struct server *server, size_t s, size_t count)
{
    const size_t done = server->done[s];
    for (size_t page = (done + PAGE - 1) / PAGE; page * PAGE < done + count; page++)
        server->tables[s][page] = server->used++;
    must(fovea_kv_pages_append(&server->pool, server->tables[s], done, count, k[s] + done * KV_WIDTH, keys,
                               v[s] + done * KV_WIDTH, keys),
         "append");
}

// One call for all sequences: their queries lie one after another. Returns how many it had.
static size_t step(struct server *server)
{
    static float in[SEQUENCES * PART * WIDTH], result[SEQUENCES * PART * WIDTH];
    uint32_t starts[SEQUENCES + 1] = {0}, kv_lens[SEQUENCES];
    int64_t positions[SEQUENCES];
    for (size_t s = 0; s < SEQUENCES; s++) {
        const size_t done = server->done[s], wanted = done < prompts[s] ? prompts[s] - done : done < lens[s],
                     count = wanted < PART ? wanted : PART;
        append(server, s, count);
        memcpy(in + starts[s] * WIDTH, q[s] + done * WIDTH, count * WIDTH * sizeof *in);
        starts[s + 1] = starts[s] + (uint32_t)count;
        positions[s] = (int64_t)done;
        kv_lens[s] = (uint32_t)(done + count);
    }
    const struct fovea_attention_args args = {.q = in,
                                              .k = server->pool.k,
                                              .v = server->pool.v,
                                              .out = result,
                                              .batch = SEQUENCES,
                                              .q_len = PART,
                                              .kv_len = LEN,
                                              .kv_lens = kv_lens,
                                              .q_offsets = positions,
                                              .q_starts = starts,
                                              .pages = server->tables[0],
                                              .pages_batch = TABLE};
    must(fovea_attention(server->plan, &args, server->shared, server->scratch, NULL), "attention");
    for (size_t s = 0; s < SEQUENCES; s++) {
        const size_t count = starts[s + 1] - starts[s];
        memcpy(out[s] + server->done[s] * WIDTH, result + starts[s] * WIDTH, count * WIDTH * sizeof *out[s]);
        server->done[s] += count;
    }
    return starts[SEQUENCES];
}

int main(void)
{
    for (size_t s = 0; s < SEQUENCES; s++) {
        for (size_t i = 0; i < LEN * WIDTH; i++)
            q[s][i] = (float)((i * 7 + s) % 31) / 16 - 1;
        for (size_t i = 0; i < LEN * KV_WIDTH; i++) {
            k[s][i] = (float)((i * 5 + s) % 29) / 16 - 1;
            v[s][i] = (float)((i * 3 + s) % 23) / 16 - 1;
        }
    }
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = 1; // all calls here are of one thread
    struct fovea_engine *engine;
    must(fovea_engine_create(&options, &engine), "engine");
    static struct server server;
    make(&server, engine);
    size_t steps = 0, rows = 0;
    for (size_t count; (count = step(&server)) > 0; rows += count)
        steps++;
    int same = 1;
    for (size_t s = 0; s < SEQUENCES; s++) {
        const struct fovea_attention_desc desc = describe(1, LEN);
        const struct fovea_attention_args args = {
            .q = q[s], .k = k[s], .v = v[s], .out = expected[s], .batch = 1, .q_len = lens[s], .kv_len = lens[s]};
        must(fovea_attention_once(engine, &desc, &args), "attention");
        same &= memcmp(out[s], expected[s], lens[s] * WIDTH * sizeof *out[s]) == 0;
    }
    printf("%zu tokens of %d sequences in %zu steps on %u pages, and each alone at once: %s\n", rows, SEQUENCES, steps,
           server.used, same ? "the same bits" : "other bits");
    void *const taken[] = {server.pool.k, server.pool.v, server.plan, server.shared, server.scratch};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        free(taken[i]);
    fovea_engine_destroy(engine);
    return !same;
}
