// SPDX-License-Identifier: Apache-2.0
// tests/support/keys.h - caches of keys and values, and the same keys in pages.
#ifndef FOVEA_TESTS_SUPPORT_KEYS_H
#define FOVEA_TESTS_SUPPORT_KEYS_H

#include "fovea/kv_cache.h"
#include "tests/check/half.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"
#include "tests/support/weights.h"

#include <stdbool.h>

/// n elements: NaNs.
static inline void *test_elements(enum fovea_type type, size_t n)
{
    return test_memory(n * fovea_type_bytes(type), TEST_HIGH);
}

/// The address of element i.
static inline void *test_element(enum fovea_type type, const void *first, size_t i)
{
    return (char *)(uintptr_t)first + i * fovea_type_bytes(type);
}

static inline float test_value(enum fovea_type type, const void *first, size_t i)
{
    return type == FOVEA_F32 ? ((const float *)first)[i] : half_value(type, ((const uint16_t *)first)[i]);
}

/// That n elements have the same bits, all NaNs counting as one value.
static inline void test_same_elements(enum fovea_type type, const void *expected, const void *got, size_t n,
                                      const char *what)
{
    size_t at = 0;
    while (at < n &&
           (memcmp(test_element(type, expected, at), test_element(type, got, at), fovea_type_bytes(type)) == 0 ||
            (isnan(test_value(type, expected, at)) && isnan(test_value(type, got, at)))))
        at++;
    CHECK(at == n, "%s: element %zu of %zu is %a, expected %a", what, at, n, (double)test_value(type, got, at),
          (double)test_value(type, expected, at));
}

/// Room for k and v of the sizes set in a cache, and of its type. It holds nothing yet: NaN.
static inline void test_room(struct fovea_kv_cache *cache)
{
    size_t k = 0, v = 0;
    CHECK(!fovea_kv_cache_size(cache, &k, &v), "the size of a cache");
    cache->k = test_elements(cache->type, k), cache->v = test_elements(cache->type, v);
}

/// A cache of elements of a type, keys in panels, that holds nothing yet.
static inline struct fovea_kv_cache test_typed_cache(enum fovea_type type, size_t batch, size_t kv_heads,
                                                     size_t capacity, size_t qk_dim, size_t v_dim)
{
    struct fovea_kv_cache c = {.struct_size = sizeof c,
                               .type = type,
                               .batch = batch,
                               .kv_heads = kv_heads,
                               .capacity = capacity,
                               .qk_dim = qk_dim,
                               .v_dim = v_dim};
    test_room(&c);
    return c;
}

static inline struct fovea_kv_cache test_cache(size_t batch, size_t kv_heads, size_t capacity, size_t qk_dim,
                                               size_t v_dim)
{
    return test_typed_cache(FOVEA_F32, batch, kv_heads, capacity, qk_dim, v_dim);
}

/// Puts `keys` made-up keys of sequence b at its beginning.
static inline void test_fill_cache(const struct fovea_kv_cache *cache, size_t b, size_t keys, uint64_t *random)
{
    const struct fovea_strides k = {0, cache->qk_dim, cache->kv_heads * cache->qk_dim};
    const struct fovea_strides v = {0, cache->v_dim, cache->kv_heads * cache->v_dim};
    const float *const key = test_some(keys * k.row, 1, random), *const value = test_some(keys * v.row, 1, random);
    CHECK(!fovea_kv_append(cache, b, 0, keys, key, k, value, v), "append");
}

static inline struct fovea_kv_cache test_copy_cache(const struct fovea_kv_cache *cache)
{
    struct fovea_kv_cache copy = *cache;
    size_t k = 0, v = 0;
    CHECK(!fovea_kv_cache_size(cache, &k, &v), "the size of a cache");
    test_room(&copy);
    memcpy(copy.k, cache->k, k * fovea_type_bytes(cache->type));
    memcpy(copy.v, cache->v, v * fovea_type_bytes(cache->type));
    return copy;
}

/// The same numbers as f32.
static inline struct fovea_kv_cache test_widen_cache(const struct fovea_kv_cache *cache)
{
    struct fovea_kv_cache wide = *cache;
    size_t k = 0, v = 0;
    CHECK(!fovea_kv_cache_size(cache, &k, &v), "the size of a cache");
    wide.type = FOVEA_F32;
    test_room(&wide);
    for (size_t i = 0; i < k; i++)
        ((float *)wide.k)[i] = test_value(cache->type, cache->k, i);
    for (size_t i = 0; i < v; i++)
        ((float *)wide.v)[i] = test_value(cache->type, cache->v, i);
    return wide;
}

/// The block of sequence b, as a cache of its own.
static inline struct fovea_kv_cache test_view_cache(const struct fovea_kv_cache *cache, size_t b)
{
    struct fovea_strides k, v;
    struct fovea_kv_cache view = *cache;
    CHECK(!fovea_kv_cache_strides(cache, &k, &v), "strides");
    view.batch = 1;
    view.k = test_element(cache->type, cache->k, b * k.batch);
    view.v = test_element(cache->type, cache->v, b * v.batch);
    return view;
}

/// That all of two caches has the same bits, unwritten places too.
static inline void test_same_caches(const struct fovea_kv_cache *expected, const struct fovea_kv_cache *got,
                                    const char *what)
{
    size_t k = 0, v = 0;
    char of[200];
    CHECK(!fovea_kv_cache_size(expected, &k, &v) && expected->type == got->type, "the size of a cache");
    snprintf(of, sizeof of, "K, %s", what);
    test_same_elements(expected->type, expected->k, got->k, k, of);
    snprintf(of, sizeof of, "V, %s", what);
    test_same_elements(expected->type, expected->v, got->v, v, of);
}

/// A pool of pages and the tables of the sequences whose keys they hold.
struct test_pages {
    struct fovea_kv_pages pool;
    uint32_t *table;
    size_t of_sequence; ///< entries of the table
};

/// Copies all of a cache to pages, or back.
static inline void test_move_keys(const struct fovea_kv_cache *cache, const struct test_pages *pages, bool back)
{
    struct fovea_strides k, v, page_k, page_v;
    const size_t page_keys = pages->pool.page_keys;
    CHECK(!fovea_kv_cache_strides(cache, &k, &v) && !fovea_kv_pages_strides(&pages->pool, &page_k, &page_v), "strides");
    for (size_t i = 0; i < pages->pool.pages * cache->kv_heads; i++) {
        const size_t h = i % cache->kv_heads, entry = i / cache->kv_heads, page = pages->table[entry];
        const size_t b = entry / pages->of_sequence, key = entry % pages->of_sequence * page_keys;
        const size_t left = cache->capacity - key, keys = left < page_keys ? left : page_keys;
        const enum fovea_type type = cache->type;
        void *const a = test_element(type, cache->k, b * k.batch + h * k.head + key * cache->qk_dim);
        void *const a_page = test_element(type, pages->pool.k, page * page_k.batch + h * page_k.head);
        void *const c = test_element(type, cache->v, b * v.batch + h * v.head + key * cache->v_dim);
        void *const c_page = test_element(type, pages->pool.v, page * page_v.batch + h * page_v.head);
        memcpy(back ? a : a_page, back ? a_page : a, (keys + 15) / 16 * 16 * cache->qk_dim * fovea_type_bytes(type));
        memcpy(back ? c : c_page, back ? c_page : c, keys * cache->v_dim * fovea_type_bytes(type));
    }
}

/// What is in a cache, in pages of so many keys, which lie in any order; NaN beside it.
static inline struct test_pages test_in_pages(const struct fovea_kv_cache *cache, uint32_t page_keys)
{
    struct test_pages pages = {.of_sequence = (cache->capacity + page_keys - 1) / page_keys};
    struct fovea_kv_pages *const pool = &pages.pool;
    *pool = (struct fovea_kv_pages){.struct_size = sizeof *pool, .page_keys = page_keys, .type = cache->type};
    pool->kv_heads = cache->kv_heads, pool->qk_dim = cache->qk_dim, pool->v_dim = cache->v_dim;
    pool->pages = cache->batch * pages.of_sequence;
    size_t k = 0, v = 0;
    uint64_t random = page_keys;
    CHECK(!fovea_kv_pages_size(pool, &k, &v), "the size of pages");
    pool->k = test_elements(pool->type, k), pool->v = test_elements(pool->type, v);
    pages.table = test_memory(pool->pages * sizeof *pages.table, TEST_HIGH);
    test_shuffle(pages.table, (uint32_t)pool->pages, &random);
    test_move_keys(cache, &pages, false);
    return pages;
}

/// That all of two pools has the same bits.
static inline void test_same_pages(const struct test_pages *expected, const struct test_pages *got, const char *what)
{
    size_t k = 0, v = 0;
    char of[200];
    CHECK(!fovea_kv_pages_size(&expected->pool, &k, &v) && expected->pool.type == got->pool.type, "the size of pages");
    snprintf(of, sizeof of, "K in pages, %s", what);
    test_same_elements(expected->pool.type, expected->pool.k, got->pool.k, k, of);
    snprintf(of, sizeof of, "V in pages, %s", what);
    test_same_elements(expected->pool.type, expected->pool.v, got->pool.v, v, of);
}

#endif
