// SPDX-License-Identifier: Apache-2.0
// tests/unit/kv_cache.c - fovea_kv_append puts each key into its panel or row and each value into its row, and writes
// nothing else: any sizes, views, positions and types of elements, with the kernels of each ISA and without. Pages hold
// what a cache holds.
#include "fovea/kv_cache.h"
#include "tests/check/check.h"
#include "tests/support/engines.h"
#include "tests/support/keys.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"

#include <stdbool.h>

enum { PANEL = 16 };

static struct fovea_engine *engines[TEST_ISAS + 1]; // some of them NULL, the last one for certain

// New keys and values: views with gaps between rows, heads side by side (k) or one after another (v).
struct news {
    size_t b, pos, len;
    struct fovea_strides ks, vs;
    float *k, *v;
};

// Few elements, or more than are rounded at a time.
static size_t draw_width(struct check_rng *rng)
{
    return 1 + check_below(rng, check_chance(rng, 20) ? 150 : 20);
}

// Keys that K has room for.
static size_t k_keys(const struct fovea_kv_cache *c)
{
    return c->k_rows ? c->capacity : (c->capacity + PANEL - 1) / PANEL * PANEL;
}

// Where element p of a key lies behind the first of its head.
static size_t element(bool k_rows, size_t dim, size_t key, size_t p)
{
    return k_rows ? key * dim + p : key / PANEL * PANEL * dim + p * PANEL + key % PANEL;
}

static struct fovea_kv_cache draw_cache(struct check_rng *rng, enum fovea_type type, size_t *k_elements,
                                        size_t *v_elements)
{
    struct fovea_kv_cache c = {.struct_size = sizeof c,
                               .type = type,
                               .batch = 1 + check_below(rng, 3),
                               .k_rows = check_chance(rng, 40),
                               .kv_heads = 1 + check_below(rng, 3),
                               .capacity = check_size(rng, 70),
                               .qk_dim = draw_width(rng),
                               .v_dim = draw_width(rng)};
    const size_t heads = c.batch * c.kv_heads, keys = k_keys(&c);
    CHECK(!fovea_kv_cache_size(&c, k_elements, v_elements), "size");
    CHECK(*k_elements == heads * keys * c.qk_dim && *v_elements == heads * c.capacity * c.v_dim, "%zu and %zu elements",
          *k_elements, *v_elements);
    test_room(&c);
    return c;
}

static struct news draw_news(struct check_rng *rng, const struct fovea_kv_cache *c)
{
    const struct check_source source = {CHECK_BITS, 1, 0};
    struct news n = {.b = check_below(rng, c->batch), .pos = check_below(rng, c->capacity + 1)};
    n.len = check_below(rng, c->capacity - n.pos + 1);
    n.ks = (struct fovea_strides){0, c->qk_dim, c->kv_heads * c->qk_dim + 3};
    n.vs = (struct fovea_strides){0, n.len * (c->v_dim + 1), c->v_dim + 1};
    const size_t k_floats = n.len ? (n.len - 1) * n.ks.row + c->kv_heads * c->qk_dim : 0;
    const size_t v_floats = n.len ? (c->kv_heads - 1) * n.vs.head + (n.len - 1) * n.vs.row + c->v_dim : 0;
    n.k = test_floats(k_floats, TEST_HIGH);
    n.v = test_floats(v_floats, TEST_HIGH);
    check_fill(rng, &source, n.k, k_floats);
    check_fill(rng, &source, n.v, v_floats);
    return n;
}

// One number, rounded to the type of the cache.
static void put(enum fovea_type type, void *first, size_t i, float x)
{
    if (type == FOVEA_F32)
        ((float *)first)[i] = x;
    else
        ((uint16_t *)first)[i] = half_nearest(type, x);
}

// The same by definition.
static void place(const struct fovea_kv_cache *c, const struct news *n, void *k, void *v)
{
    for (size_t h = 0; h < c->kv_heads; h++)
        for (size_t j = 0; j < n->len; j++) {
            const size_t head = n->b * c->kv_heads + h, key = n->pos + j;
            for (size_t p = 0; p < c->qk_dim; p++)
                put(c->type, k, head * k_keys(c) * c->qk_dim + element(c->k_rows, c->qk_dim, key, p),
                    n->k[j * n->ks.row + h * n->ks.head + p]);
            for (size_t p = 0; p < c->v_dim; p++)
                put(c->type, v, (head * c->capacity + key) * c->v_dim + p, n->v[j * n->vs.row + h * n->vs.head + p]);
        }
}

static void run_case(uint64_t number)
{
    struct check_rng rng = {number};
    size_t k_elements, v_elements;
    struct fovea_kv_cache c = draw_cache(&rng, (enum fovea_type)(number % 3), &k_elements, &v_elements);
    c.engine = engines[number / 3 % (TEST_ISAS + 1)];
    struct fovea_kv_cache want = c;
    test_room(&want);
    struct fovea_strides ks, vs;
    CHECK(!fovea_kv_cache_strides(&c, &ks, &vs), "strides");
    CHECK(ks.head == k_keys(&c) * c.qk_dim && ks.batch == c.kv_heads * ks.head && ks.row == c.k_rows * c.qk_dim,
          "case %llu: strides of k", (unsigned long long)number);
    for (int i = 0; i < 3; i++) {
        const struct news n = draw_news(&rng, &c);
        place(&c, &n, want.k, want.v);
        const enum fovea_status status = fovea_kv_append(&c, n.b, n.pos, n.len, n.k, n.ks, n.v, n.vs);
        CHECK(!status, "case %llu: %s", (unsigned long long)number, fovea_status_string(status));
        char what[120];
        snprintf(what, sizeof what, "case %llu: keys %zu to %zu of batch entry %zu", (unsigned long long)number, n.pos,
                 n.pos + n.len, n.b);
        test_same_caches(&want, &c, what);
    }
    test_memory_reset();
}

// The same keys appended to a cache and to pages, in pieces.
static void test_pages(uint64_t seed)
{
    static const uint32_t sizes[] = {16, 32, 64, 128, 256};
    struct check_rng rng = {seed};
    const struct check_source source = {CHECK_BITS, 1, 0};
    struct fovea_kv_cache cache = {.struct_size = sizeof cache, .batch = 1, .kv_heads = 1 + check_below(&rng, 3)};
    struct fovea_kv_pages pool = {.struct_size = sizeof pool, .page_keys = sizes[check_below(&rng, 5)]};
    cache.capacity = 1 + check_below(&rng, 600);
    cache.qk_dim = pool.qk_dim = draw_width(&rng);
    cache.v_dim = pool.v_dim = draw_width(&rng);
    pool.kv_heads = cache.kv_heads;
    cache.engine = engines[check_below(&rng, TEST_ISAS + 1)];
    pool.engine = engines[check_below(&rng, TEST_ISAS + 1)];
    const enum fovea_type type = cache.type = pool.type = (enum fovea_type)(seed % 3);
    const size_t bytes = fovea_type_bytes(type);
    cache.k_rows = check_chance(&rng, 50); // the one as it may be, whatever the other is
    pool.k_rows = check_chance(&rng, 50);
    const size_t pages = (cache.capacity + pool.page_keys - 1) / pool.page_keys;
    pool.pages = pages + 2;
    size_t nk = 0, nv = 0, pk = 0, pv = 0;
    struct fovea_strides cs, cv, ps, pvs;
    CHECK(!fovea_kv_cache_size(&cache, &nk, &nv) && !fovea_kv_pages_size(&pool, &pk, &pv), "sizes");
    CHECK(!fovea_kv_cache_strides(&cache, &cs, &cv) && !fovea_kv_pages_strides(&pool, &ps, &pvs), "strides");
    cache.k = test_elements(type, nk), cache.v = test_elements(type, nv);
    pool.k = test_elements(type, pk), pool.v = test_elements(type, pv);
    uint32_t *const table = test_memory(pages * sizeof *table, TEST_HIGH);
    for (size_t i = 0; i < pages; i++)
        table[i] = (uint32_t)(pages + 1 - i);
    const struct fovea_strides kr = {0, pool.qk_dim, pool.kv_heads * pool.qk_dim + 1},
                               vr = {0, pool.v_dim, pool.kv_heads * pool.v_dim};
    float *const k = test_floats(cache.capacity * kr.row, TEST_HIGH), *const v = test_floats(cache.capacity * vr.row,
                                                                                             TEST_HIGH);
    check_fill(&rng, &source, k, cache.capacity * kr.row);
    check_fill(&rng, &source, v, cache.capacity * vr.row);
    for (size_t pos = 0, n; pos < cache.capacity; pos += n) {
        n = 1 + check_below(&rng, 300);
        n = n < cache.capacity - pos ? n : cache.capacity - pos;
        CHECK(!fovea_kv_append(&cache, 0, pos, n, k + pos * kr.row, kr, v + pos * vr.row, vr), "append");
        CHECK(!fovea_kv_pages_append(&pool, table, pos, n, k + pos * kr.row, kr, v + pos * vr.row, vr), "append");
    }
    char what[60];
    snprintf(what, sizeof what, "append %llu", (unsigned long long)seed);
    for (size_t h = 0; h < pool.kv_heads; h++)
        for (size_t j = 0; j < cache.capacity; j++) {
            const size_t page = table[j / pool.page_keys], n = j % pool.page_keys;
            for (size_t i = 0; i < pool.qk_dim; i++)
                test_same_elements(
                    type, test_element(type, cache.k, h * cs.head + element(cache.k_rows, cache.qk_dim, j, i)),
                    test_element(type, pool.k, page * ps.batch + h * ps.head + element(pool.k_rows, pool.qk_dim, n, i)),
                    1, what);
            test_same_elements(type, test_element(type, cache.v, h * cv.head + j * cv.row),
                               test_element(type, pool.v, page * pvs.batch + h * pvs.head + n * pvs.row), pool.v_dim,
                               what);
        }
    const struct test_pages got = {.pool = pool};
    struct test_pages before = got;
    before.pool.k = test_elements(type, pk), before.pool.v = test_elements(type, pv);
    memcpy(before.pool.k, pool.k, pk * bytes), memcpy(before.pool.v, pool.v, pv * bytes);
    table[pages - 1] = (uint32_t)pool.pages; // no page of the pool
    CHECK(fovea_kv_pages_append(&pool, table, 0, cache.capacity, k, kr, v, vr) == FOVEA_ERR_SHAPE, "no such page");
    CHECK(fovea_kv_pages_append(&pool, NULL, 0, 1, k, kr, v, vr) == FOVEA_ERR_NULL, "no table");
    pool.k_rows = 2;
    CHECK(fovea_kv_pages_size(&pool, &pk, &pv) == FOVEA_ERR_ENUM, "k_rows 2");
    pool.k_rows = 0;
    pool.type = (enum fovea_type)3;
    CHECK(fovea_kv_pages_append(&pool, table, 0, 1, k, kr, v, vr) == FOVEA_ERR_ENUM, "pages of type 3");
    pool.type = type;
    pool.page_keys = 48;
    CHECK(fovea_kv_pages_append(&pool, table, 0, 1, k, kr, v, vr) == FOVEA_ERR_VALUE, "pages of 48");
    CHECK(fovea_kv_pages_size(NULL, &pk, &pv) == FOVEA_ERR_NULL, "no pool");
    cache.type = (enum fovea_type)3;
    CHECK(fovea_kv_append(&cache, 0, 0, 1, k, kr, v, vr) == FOVEA_ERR_ENUM, "a cache of type 3");
    test_same_pages(&before, &got, "refused appends");
    test_memory_reset();
}

// K and V may each have PTRDIFF_MAX bytes.
static void test_most(enum fovea_type type)
{
    const size_t most = PTRDIFF_MAX / fovea_type_bytes(type);
    struct fovea_kv_cache c = {.struct_size = sizeof c, .k_rows = 1, .batch = 1, .kv_heads = 1, .capacity = 1};
    size_t k = 0, v = 0;
    c.type = type, c.qk_dim = c.v_dim = most;
    CHECK(!fovea_kv_cache_size(&c, &k, &v) && k == most && v == most, "type %d: %zu and %zu elements", type, k, v);
    c.qk_dim = most + 1;
    CHECK(fovea_kv_cache_size(&c, &k, &v) == FOVEA_ERR_OVERFLOW, "type %d: K of more", type);
    c.qk_dim = most, c.v_dim = most + 1;
    CHECK(fovea_kv_cache_size(&c, &k, &v) == FOVEA_ERR_OVERFLOW, "type %d: V of more", type);
}

int main(void)
{
    test_engines(engines);
    for (int type = FOVEA_F32; type <= FOVEA_F16; type++)
        test_most((enum fovea_type)type);
    for (uint64_t number = 1; number <= 300; number++)
        run_case(number);
    for (uint64_t seed = 1; seed <= 60; seed++)
        test_pages(seed);
    test_engines_free(engines);
    return test_done();
}
