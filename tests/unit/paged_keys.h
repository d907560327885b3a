// SPDX-License-Identifier: Apache-2.0
// tests/unit/paged_keys.h - the keys of a cache in pages, for calls that must have the same bits with either.
#ifndef FOVEA_TESTS_UNIT_PAGED_KEYS_H
#define FOVEA_TESTS_UNIT_PAGED_KEYS_H

#include "fovea/fovea.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"

#include <stdbool.h>

/// Pages of so many keys for the sequences of a cache, last page first; NaN.
struct paged {
    struct fovea_kv_pages pool;
    uint32_t *table;
    size_t of_sequence;
};

static inline struct paged test_pages_for(const struct fovea_kv_cache *cache, uint32_t page_keys)
{
    struct paged paged = {.of_sequence = (cache->capacity + page_keys - 1) / page_keys};
    struct fovea_kv_pages *const pool = &paged.pool;
    *pool = (struct fovea_kv_pages){.struct_size = sizeof *pool, .page_keys = page_keys};
    pool->kv_heads = cache->kv_heads, pool->qk_dim = cache->qk_dim, pool->v_dim = cache->v_dim;
    pool->pages = cache->batch * paged.of_sequence;
    size_t k, v;
    CHECK(!fovea_kv_pages_size(pool, &k, &v), "pages");
    pool->k = test_floats(k, TEST_HIGH), pool->v = test_floats(v, TEST_HIGH);
    paged.table = test_memory(pool->pages * sizeof *paged.table, TEST_HIGH);
    for (size_t i = 0; i < pool->pages; i++)
        paged.table[i] = (uint32_t)(pool->pages - 1 - i);
    return paged;
}

/// Copies all of a cache to pages, or back.
static inline void test_move_keys(const struct fovea_kv_cache *cache, const struct paged *paged, bool back)
{
    struct fovea_strides k, v, page_k, page_v;
    const size_t page_keys = paged->pool.page_keys;
    CHECK(!fovea_kv_cache_strides(cache, &k, &v) && !fovea_kv_pages_strides(&paged->pool, &page_k, &page_v), "strides");
    for (size_t i = 0; i < paged->pool.pages * cache->kv_heads; i++) {
        const size_t h = i % cache->kv_heads, entry = i / cache->kv_heads, page = paged->table[entry];
        const size_t b = entry / paged->of_sequence, key = entry % paged->of_sequence * page_keys;
        const size_t left = cache->capacity - key, keys = left < page_keys ? left : page_keys;
        float *const a = cache->k + b * k.batch + h * k.head + key * cache->qk_dim;
        float *const a_page = paged->pool.k + page * page_k.batch + h * page_k.head;
        float *const c = cache->v + b * v.batch + h * v.head + key * cache->v_dim;
        float *const c_page = paged->pool.v + page * page_v.batch + h * page_v.head;
        memcpy(back ? a : a_page, back ? a_page : a, (keys + 15) / 16 * 16 * cache->qk_dim * sizeof *a);
        memcpy(back ? c : c_page, back ? c_page : c, keys * cache->v_dim * sizeof *c);
    }
}

#endif
