// SPDX-License-Identifier: Apache-2.0
// tests/unit/mha_pages.c - multi-head attention with its keys in pages: the bits of the same call with a cache, reading
// what is there and appending to it.
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

enum { B = 3, HEADS = 4, KV_HEADS = 2, QK = 24, V = 40, WIDTH = 20, CAPACITY = 300, KEYS = 150, NEW = 37 };
enum { KEY = KV_HEADS * QK, VALUE = KV_HEADS * V };

static uint64_t rng;

static float *some(size_t n)
{
    return test_some(n, 1, &rng);
}

// The same keys in a cache and in pages of so many keys, NaN beyond them.
struct keys {
    struct fovea_kv_cache cache;
    struct fovea_kv_pages pool;
    uint32_t *table;
    size_t of_sequence; // pages
};

static struct keys draw_keys(uint32_t page_keys)
{
    struct keys keys = {.cache = {.struct_size = sizeof keys.cache,
                                  .batch = B,
                                  .kv_heads = KV_HEADS,
                                  .capacity = CAPACITY,
                                  .qk_dim = QK,
                                  .v_dim = V},
                        .pool = {.struct_size = sizeof keys.pool,
                                 .page_keys = page_keys,
                                 .kv_heads = KV_HEADS,
                                 .qk_dim = QK,
                                 .v_dim = V},
                        .of_sequence = (CAPACITY + page_keys - 1) / page_keys};
    size_t k, v;
    keys.pool.pages = B * keys.of_sequence;
    CHECK(!fovea_kv_cache_size(&keys.cache, &k, &v), "cache");
    keys.cache.k = test_floats(k, TEST_HIGH), keys.cache.v = test_floats(v, TEST_HIGH);
    CHECK(!fovea_kv_pages_size(&keys.pool, &k, &v), "pool");
    keys.pool.k = test_floats(k, TEST_HIGH), keys.pool.v = test_floats(v, TEST_HIGH);
    keys.table = test_memory(keys.pool.pages * sizeof *keys.table, TEST_HIGH);
    for (size_t i = 0; i < keys.pool.pages; i++)
        keys.table[i] = (uint32_t)(keys.pool.pages - 1 - i);
    for (size_t b = 0; b < B; b++) {
        const float *const key = some(KEYS * KEY), *const value = some(KEYS * VALUE);
        const struct fovea_strides ks = {0, QK, KEY}, vs = {0, V, VALUE};
        CHECK(!fovea_kv_append(&keys.cache, b, 0, KEYS, key, ks, value, vs), "append");
        CHECK(!fovea_kv_pages_append(&keys.pool, keys.table + b * keys.of_sequence, 0, KEYS, key, ks, value, vs),
              "append to pages");
    }
    return keys;
}

// The call with the cache, then with pages.
static void compare(const struct fovea_engine *engine, const char *isa, struct fovea_mha_desc d,
                    struct fovea_mha_args a, const struct keys *keys, enum test_way way)
{
    float *const expected = test_floats(B * a.q_len * WIDTH, TEST_HIGH);
    float *const got = test_floats(B * a.q_len * WIDTH, TEST_HIGH);
    a.out = expected, a.cache = &keys->cache;
    CHECK(!test_run(&test_mha, engine, &d, &a, TEST_SERIAL, 1), "with a cache");
    d.page_keys = keys->pool.page_keys;
    a.out = got, a.cache = NULL;
    a.pool = &keys->pool, a.pages = keys->table, a.pages_batch = keys->of_sequence;
    const enum fovea_status status = test_run(&test_mha, engine, &d, &a, way, 2);
    CHECK(!status, "with pages: %s", fovea_status_string(status));
    const size_t at = test_differ(expected, got, B * a.q_len * WIDTH);
    CHECK(at == B * a.q_len * WIDTH, "%s, pages of %u, %s: %zu is %a, expected %a", isa, (unsigned)keys->pool.page_keys,
          test_way_names[way], at, (double)got[at], (double)expected[at]);
}

static void test_pages(const struct fovea_engine *engine, const char *isa)
{
    static const uint32_t page_keys[] = {16, 32, 128, 256};
    for (size_t i = 0; i < sizeof page_keys / sizeof *page_keys; i++)
        for (int way = 0; way < TEST_WAYS; way++) {
            rng = i + 1;
            const struct fovea_mha_weights w = {.q = test_linear(engine, WIDTH, HEADS * QK, true, &rng),
                                                .k = test_linear(engine, WIDTH, KEY, true, &rng),
                                                .v = test_linear(engine, WIDTH, VALUE, true, &rng),
                                                .o = test_linear(engine, HEADS * V, WIDTH, true, &rng)};
            struct fovea_mha_desc d;
            fovea_mha_desc_init(&d, sizeof d);
            d.batch = B, d.heads = HEADS, d.kv_heads = KV_HEADS, d.q_len = NEW, d.kv_len = CAPACITY, d.new_len = NEW;
            d.qk_dim = QK, d.v_dim = V;
            d.query_width = d.key_width = d.value_width = d.out_width = WIDTH;
            const struct keys keys = draw_keys(page_keys[i]);
            struct fovea_mha_args a = {.weights = &w, .batch = B};
            a.q_len = way == TEST_SERIAL ? 1 : NEW;
            a.query = some(B * NEW * WIDTH), a.key = some(B * NEW * WIDTH), a.value = some(B * NEW * WIDTH);
            d.keys = FOVEA_MHA_CACHED, a.kv_len = KEYS;
            compare(engine, isa, d, a, &keys, (enum test_way)way);
            static const size_t positions[B] = {KEYS, 0, 96}; // some keys are written again
            d.keys = FOVEA_MHA_APPEND, d.causal = 1, a.kv_len = a.q_len;
            a.positions = positions;
            compare(engine, isa, d, a, &keys, (enum test_way)way);
            test_memory_reset();
        }
}

int main(void)
{
    test_each_engine(test_pages);
    return test_done();
}
