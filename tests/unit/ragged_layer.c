// SPDX-License-Identifier: Apache-2.0
// tests/unit/ragged_layer.c - prompts, pieces of prompts, single tokens and nothing at all in one call of a layer: the
// bits of each sequence alone. With caches, with pages, and without either.
#include "tests/unit/layer_cases.h"

enum { B = 11, ROWS = 88 };
// Of each sequence, its rows in the call and the keys before them.
static const size_t lens[B] = {0, 1, 1, 37, 5, 16, 1, 20, 0, 3, 4};
static const size_t positions[B] = {5, 0, 127, 0, 145, 112, 16, 19, 0, 147, 31};

enum kind { CAUSAL, DECODER, ENCODER, UNCACHED, KINDS };
static const char *const names[KINDS] = {"causal", "decoder", "encoder", "causal without a cache"};

// Everything of a call but where its rows and its keys are.
struct layer_case {
    struct fovea_layer_desc desc;
    struct fovea_layer_weights weights;
    struct fovea_layer_args args;
    uint32_t starts[B + 1], lens[B], memory_lens[B];
    struct fovea_kv_cache cross;
};

static void draw_case(enum kind kind, enum fovea_norm_place place, bool rotary, struct layer_case *c)
{
    memset(c, 0, sizeof *c);
    draw(B, kind == DECODER, place, rotary, &c->desc, &c->weights);
    c->desc.beams = 1;
    c->desc.rows = ROWS;
    c->desc.dropout = rotary ? 0.5f : 0; // which eval turns off
    if (kind == ENCODER || kind == UNCACHED)
        c->desc.cached = 0, c->desc.kv_len = 0;
    c->desc.causal = kind == CAUSAL || kind == UNCACHED;
    for (size_t b = 0; b < B; b++) {
        c->starts[b + 1] = c->starts[b] + (uint32_t)lens[b];
        c->lens[b] = (uint32_t)(lens[b] - lens[b] / 3);
        c->memory_lens[b] = (uint32_t)(b % (MEMORY + 1));
    }
    CHECK(c->starts[B] == ROWS, "%u rows", (unsigned)c->starts[B]);
    c->args = (struct fovea_layer_args){.weights = &c->weights, .beams = 1, .eval = 1};
    c->args.x = some(ROWS * WIDTH, 1);
    if (rotary)
        c->args.rotary_cos = some(CAPACITY * D / 2, 1), c->args.rotary_sin = some(CAPACITY * D / 2, 1);
    if (kind == DECODER) {
        const size_t all[B] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
        size_t k, v;
        c->cross = cache_of(B, MEMORY, all, &k, &v);
        c->args.memory_len = MEMORY;
    }
}

// Each sequence alone, in a batch of one, with its block of the cache.
static void alone(const struct layer_case *c, const struct fovea_kv_cache *cache, float *y)
{
    for (size_t b = 0; b < B; b++) {
        struct fovea_layer_desc d = c->desc;
        struct fovea_layer_args a = c->args;
        struct fovea_kv_cache view, memory;
        d.batch = 1, d.rows = 0;
        a.batch = 1, a.len = lens[b], a.x += c->starts[b] * WIDTH, a.y = y + c->starts[b] * WIDTH;
        if (c->desc.cached)
            view = view_of(cache, b), a.self_cache = &view, a.position = positions[b];
        else
            a.lens = c->desc.causal ? NULL : c->lens + b;
        if (c->desc.decoder)
            memory = view_of(&c->cross, b), a.cross_cache = &memory, a.memory_lens = c->memory_lens + b;
        CHECK(!test_run(&test_layer, engines[0], &d, &a, TEST_SERIAL, 1), "alone");
    }
}

// The same call for all sequences.
static struct fovea_layer_args together(const struct layer_case *c, float *y)
{
    struct fovea_layer_args a = c->args;
    a.batch = B, a.len = 40, a.y = y, a.starts = c->starts;
    a.positions = c->desc.cached ? positions : NULL;
    a.lens = c->desc.cached || c->desc.causal ? NULL : c->lens;
    a.cross_cache = c->desc.decoder ? &c->cross : NULL;
    a.memory_lens = c->desc.decoder ? c->memory_lens : NULL;
    return a;
}

static void test_cache(enum kind kind, enum fovea_norm_place place, bool rotary)
{
    struct layer_case c;
    draw_case(kind, place, rotary, &c);
    size_t k = 0, v = 0;
    const struct fovea_kv_cache before = cache_of(B, CAPACITY, positions, &k, &v), filled = copy_of(before, k, v);
    float *const expected = test_floats(ROWS * WIDTH, TEST_HIGH);
    alone(&c, &filled, expected);
    for (int e = 0; e < TEST_ISAS; e++)
        for (int way = 0; way < TEST_WAYS && engines[e]; way++) {
            const struct fovea_kv_cache cache = copy_of(before, k, v);
            float *const y = test_floats(ROWS * WIDTH, TEST_HIGH);
            struct fovea_layer_args a = together(&c, y);
            a.self_cache = c.desc.cached ? &cache : NULL;
            const enum fovea_status status = test_run(&test_layer, engines[e], &c.desc, &a, (enum test_way)way, 3);
            CHECK(!status, "%s: %s", names[kind], fovea_status_string(status));
            compare(names[kind], test_isas[e], expected, y, ROWS * WIDTH);
            compare("K", test_isas[e], filled.k, cache.k, k);
            compare("V", test_isas[e], filled.v, cache.v, v);
        }
    test_memory_reset();
}

// A pool whose pages lie in any order, with the keys before the call.
struct paged {
    struct fovea_kv_pages pool;
    size_t k, v, table;
    uint32_t *pages;
};

static struct paged pages_of(uint32_t page_keys)
{
    struct paged p = {.table = (CAPACITY + page_keys - 1) / page_keys};
    p.pool = (struct fovea_kv_pages){.struct_size = sizeof p.pool,
                                     .page_keys = page_keys,
                                     .pages = B * p.table,
                                     .kv_heads = KV_HEADS,
                                     .qk_dim = D,
                                     .v_dim = DV};
    CHECK(!fovea_kv_pages_size(&p.pool, &p.k, &p.v), "pool");
    p.pool.k = test_floats(p.k, TEST_HIGH), p.pool.v = test_floats(p.v, TEST_HIGH);
    p.pages = test_memory(p.pool.pages * sizeof *p.pages, TEST_HIGH);
    for (size_t i = 0; i < p.pool.pages; i++)
        p.pages[i] = (uint32_t)(i * 7 % p.pool.pages); // the number of pages is no multiple of 7
    CHECK(p.pool.pages % 7 != 0, "pages");
    return p;
}

// Copies the keys of sequence b in [first, first + keys) from its rows to its pages.
static void fill(const struct paged *p, size_t b, size_t first, size_t keys, const float *k, const float *v)
{
    CHECK(!fovea_kv_pages_append(&p->pool, p->pages + b * p->table, first, keys, k, (struct fovea_strides){0, D, KV}, v,
                                 (struct fovea_strides){0, DV, KV_HEADS * DV}),
          "fill");
}

static struct paged copy_of_pages(const struct paged *from)
{
    struct paged p = *from;
    p.pool.k = test_floats(p.k, TEST_HIGH), p.pool.v = test_floats(p.v, TEST_HIGH);
    memcpy(p.pool.k, from->pool.k, p.k * sizeof *p.pool.k);
    memcpy(p.pool.v, from->pool.v, p.v * sizeof *p.pool.v);
    return p;
}

// Keys [first, first + keys) of sequence b of a cache, as rows of all heads.
static const float *rows_of_k(const struct fovea_kv_cache *cache, size_t b, size_t first, size_t keys)
{
    struct fovea_strides k, v;
    CHECK(!fovea_kv_cache_strides(cache, &k, &v), "strides");
    float *const rows = test_floats(keys * KV, TEST_HIGH);
    for (size_t i = 0; i < keys * KV; i++) {
        const size_t key = first + i / KV, h = i % KV / D, panel = key / 16 * 16;
        rows[i] = cache->k[b * k.batch + h * k.head + panel * D + i % D * 16 + key % 16];
    }
    return rows;
}

static const float *rows_of_v(const struct fovea_kv_cache *cache, size_t b, size_t first, size_t keys)
{
    enum { ALL = KV_HEADS * DV };
    struct fovea_strides k, v;
    CHECK(!fovea_kv_cache_strides(cache, &k, &v), "strides");
    float *const rows = test_floats(keys * ALL, TEST_HIGH);
    for (size_t i = 0; i < keys * ALL; i++)
        rows[i] = cache->v[b * v.batch + i % ALL / DV * v.head + (first + i / ALL) * v.row + i % DV];
    return rows;
}

static void test_pages(uint32_t page_keys, bool rotary)
{
    struct layer_case c;
    draw_case(CAUSAL, FOVEA_NORM_PRE, rotary, &c);
    const size_t nothing[B] = {0};
    size_t k = 0, v = 0;
    const struct fovea_kv_cache cache = cache_of(B, CAPACITY, nothing, &k, &v);
    const struct paged before = pages_of(page_keys);
    for (size_t b = 0; b < B; b++) {
        const float *const key = some(positions[b] * KV, 1), *const value = some(positions[b] * KV_HEADS * DV, 1);
        CHECK(!fovea_kv_append(&cache, b, 0, positions[b], key, (struct fovea_strides){0, D, KV}, value,
                               (struct fovea_strides){0, DV, KV_HEADS * DV}),
              "append");
        fill(&before, b, 0, positions[b], key, value);
        for (size_t i = lens[b] ? (positions[b] + lens[b] - 1) / page_keys + 1 : 0; i < before.table; i++)
            before.pages[b * before.table + i] = UINT32_MAX; // what no query sees need not be there
    }
    float *const expected = test_floats(ROWS * WIDTH, TEST_HIGH);
    alone(&c, &cache, expected);
    c.desc.page_keys = page_keys;
    const struct paged filled = copy_of_pages(&before);
    for (size_t b = 0; b < B; b++)
        fill(&filled, b, positions[b], lens[b], rows_of_k(&cache, b, positions[b], lens[b]),
             rows_of_v(&cache, b, positions[b], lens[b]));
    for (int e = 0; e < TEST_ISAS; e++)
        for (int way = 0; way < TEST_WAYS && engines[e]; way++) {
            const struct paged got = copy_of_pages(&before);
            float *const y = test_floats(ROWS * WIDTH, TEST_HIGH);
            struct fovea_layer_args a = together(&c, y);
            a.self_pool = &got.pool, a.pages = got.pages, a.pages_batch = got.table;
            const enum fovea_status status = test_run(&test_layer, engines[e], &c.desc, &a, (enum test_way)way, 3);
            CHECK(!status, "pages of %u: %s", (unsigned)page_keys, fovea_status_string(status));
            compare("pages", test_isas[e], expected, y, ROWS * WIDTH);
            compare("K in pages", test_isas[e], filled.pool.k, got.pool.k, before.k);
            compare("V in pages", test_isas[e], filled.pool.v, got.pool.v, before.v);
        }
    // Nothing is written where a page is missing.
    struct fovea_layer_args a = together(&c, test_floats(ROWS * WIDTH, TEST_HIGH));
    const struct paged refused = copy_of_pages(&before);
    struct fovea_kv_pages pool = refused.pool;
    a.self_pool = &pool, a.pages = before.pages, a.pages_batch = before.table;
    pool.pages = before.pages[3 * before.table + positions[3] / page_keys];
    const enum fovea_status status = test_run(&test_layer, engines[0], &c.desc, &a, TEST_SERIAL, 1);
    CHECK(status == FOVEA_ERR_SHAPE, "a page beyond the pool: %s", fovea_status_string(status));
    compare("K of a refused call", test_isas[0], before.pool.k, refused.pool.k, before.k);
    compare("V of a refused call", test_isas[0], before.pool.v, refused.pool.v, before.v);
    test_memory_reset();
}

// Memory is of the rows of a call, not of batch x len; so are the states of attention, of which several splits of keys
// have one each.
static void test_memory_of_rows(size_t kv_len, size_t states)
{
    struct fovea_work *const plan = test_memory(fovea_layer_plan_size(), TEST_HIGH);
    size_t bytes[2];
    for (size_t i = 0; i < 2; i++) {
        struct layer_case c;
        draw_case(CAUSAL, FOVEA_NORM_PRE, false, &c);
        c.desc.kv_len = kv_len;
        c.desc.rows = (i + 1) * 32; // of whole cache lines each
        CHECK(!fovea_layer_plan(engines[0], &c.desc, plan), "plan");
        bytes[i] = plan->shared_bytes;
    }
    const size_t floats = WIDTH + FFN + (HEADS + KV_HEADS) * (D + DV) + states * HEADS * (DV + 2);
    const size_t expected = 32 * sizeof(float) * floats;
    CHECK(bytes[1] - bytes[0] == expected, "%zu and %zu bytes, not %zu between them", bytes[0], bytes[1], expected);
    test_memory_reset();
}

int main(void)
{
    test_engines(engines);
    test_memory_of_rows(CAPACITY, 0);
    test_memory_of_rows(3000, 3);
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < 4; i++)
            test_cache((enum kind)kind, i & 1 ? FOVEA_NORM_PRE : FOVEA_NORM_POST, (i & 2) != 0);
    test_pages(16, true);
    test_pages(64, false);
    test_pages(256, true);
    test_engines_free(engines);
    return test_done();
}
