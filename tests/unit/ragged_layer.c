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

static void draw_case(enum kind kind, enum fovea_norm_place place, bool rotary, enum fovea_type type,
                      struct layer_case *c)
{
    memset(c, 0, sizeof *c);
    draw(B, kind == DECODER, place, rotary, &c->desc, &c->weights);
    c->desc.beams = 1;
    c->desc.rows = ROWS;
    c->desc.kv_type = type;
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
    give_options(&c->desc, &c->args);
    if (kind == DECODER) {
        const size_t all[B] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
        c->cross = typed_cache_of(type, B, MEMORY, all);
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
            view = test_view_cache(cache, b), a.self_cache = &view, a.position = positions[b];
        else
            a.lens = c->desc.causal ? NULL : c->lens + b;
        if (c->desc.decoder)
            memory = test_view_cache(&c->cross, b), a.cross_cache = &memory, a.memory_lens = c->memory_lens + b;
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

// A copy of the keys, in pages for a call. Those that no query sees, behind its keys or left of its window, need not be
// there.
static void put_into_pages(const struct fovea_kv_cache *keys, uint32_t page_keys, size_t window_left,
                           struct test_pages *pages, struct fovea_layer_args *a)
{
    *pages = test_in_pages(keys, page_keys);
    for (size_t b = 0; b < B; b++) {
        const size_t first = positions[b] > window_left ? positions[b] - window_left : 0;
        for (size_t i = 0; i < pages->of_sequence; i++)
            if (lens[b] == 0 || (i + 1) * page_keys <= first || i * page_keys >= positions[b] + lens[b])
                pages->table[b * pages->of_sequence + i] = UINT32_MAX;
    }
    a->self_pool = &pages->pool, a->pages = pages->table, a->pages_batch = pages->of_sequence;
}

// Nothing is written where a page is missing.
static void test_missing(const struct layer_case *c, const struct fovea_kv_cache *before, uint32_t page_keys)
{
    struct test_pages pages;
    struct fovea_layer_args a = together(c, test_floats(ROWS * WIDTH, TEST_HIGH));
    put_into_pages(before, page_keys, c->desc.window_left, &pages, &a);
    const struct test_pages same = test_in_pages(before, page_keys);
    pages.pool.pages = pages.table[3 * pages.of_sequence + positions[3] / page_keys];
    const enum fovea_status status = test_run(&test_layer, engines[0], &c->desc, &a, TEST_SERIAL, 1);
    CHECK(status == FOVEA_ERR_SHAPE, "a page beyond the pool: %s", fovea_status_string(status));
    test_same_pages(&same, &pages, "a refused call");
}

// Keys in a cache, in pages of so many, or, where the layer keeps none, nowhere.
static void test_case(enum kind kind, enum fovea_norm_place place, bool rotary, enum fovea_type type,
                      uint32_t page_keys)
{
    struct layer_case c;
    draw_case(kind, place, rotary, type, &c);
    const struct fovea_kv_cache before = typed_cache_of(type, B, CAPACITY, positions),
                                filled = test_copy_cache(&before);
    float *const expected = test_floats(ROWS * WIDTH, TEST_HIGH);
    alone(&c, &filled, expected);
    c.desc.page_keys = page_keys;
    for (int e = 0; e < TEST_ISAS; e++)
        for (int way = 0; way < TEST_WAYS && engines[e]; way++) {
            const struct fovea_kv_cache cache = test_copy_cache(&before);
            struct test_pages pages;
            float *const y = test_floats(ROWS * WIDTH, TEST_HIGH);
            struct fovea_layer_args a = together(&c, y);
            if (page_keys != 0)
                put_into_pages(&before, page_keys, c.desc.window_left, &pages, &a);
            else
                a.self_cache = c.desc.cached ? &cache : NULL;
            const enum fovea_status status = test_run(&test_layer, engines[e], &c.desc, &a, (enum test_way)way, 3);
            CHECK(!status, "%s: %s", names[kind], fovea_status_string(status));
            CHECK_SAME(expected, y, ROWS * WIDTH, "%s, pages of %u, %s", names[kind], page_keys, test_isas[e]);
            if (page_keys != 0) {
                const struct test_pages want = test_in_pages(&filled, page_keys);
                test_same_pages(&want, &pages, test_isas[e]);
            } else {
                test_same_caches(&filled, &cache, test_isas[e]);
            }
        }
    if (page_keys != 0)
        test_missing(&c, &before, page_keys);
    test_memory_reset();
}

// Memory is of the rows of a call, not of batch x len; so are the states of attention, of which several splits of keys
// have one each.
static void test_memory_of_rows(size_t kv_len, size_t states)
{
    size_t bytes[2];
    for (size_t i = 0; i < 2; i++) {
        struct layer_case c;
        draw_case(CAUSAL, FOVEA_NORM_PRE, false, FOVEA_F32, &c);
        c.desc.kv_len = kv_len;
        c.desc.rows = (i + 1) * 32; // of whole cache lines each
        bytes[i] = test_plan(&test_layer, engines[0], &c.desc, 1).plan->shared_bytes;
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
            test_case((enum kind)kind, i & 1 ? FOVEA_NORM_PRE : FOVEA_NORM_POST, (i & 2) != 0, FOVEA_F32, 0);
    for (int kind = 0; kind < KINDS; kind++)
        test_case((enum kind)kind, FOVEA_NORM_SANDWICH, kind != ENCODER, FOVEA_F32, 0);
    test_case(CAUSAL, FOVEA_NORM_PRE, true, FOVEA_F32, 16);
    test_case(CAUSAL, FOVEA_NORM_PRE, false, FOVEA_F32, 64);
    test_case(CAUSAL, FOVEA_NORM_PRE, true, FOVEA_F32, 256);
    test_case(CAUSAL, FOVEA_NORM_PRE, true, FOVEA_BF16, 0);
    test_case(CAUSAL, FOVEA_NORM_PRE, false, FOVEA_F16, 64);
    test_case(DECODER, FOVEA_NORM_POST, true, FOVEA_F16, 0);
    test_engines_free(engines);
    return test_done();
}
