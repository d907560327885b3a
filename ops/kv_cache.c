// SPDX-License-Identifier: Apache-2.0
// ops/kv_cache.c - caches of keys in panels of 16 or rows and values in rows: a block for each sequence, or pages.
//
// Both are arrays of units (sequences, pages) of a capacity in keys, each with its heads; a unit is appended to by one
// function.
#include "ops/kv_cache.h"
#include "kernels/table.h"
#include "ops/check.h"
#include "ops/kv_put.h"
#include <string.h>

static struct fovea_kv_units units_of_cache(const struct fovea_kv_cache *c)
{
    return (struct fovea_kv_units){.count = c->batch,
                                   .heads = c->kv_heads,
                                   .keys = c->capacity,
                                   .qk_dim = c->qk_dim,
                                   .v_dim = c->v_dim,
                                   .k = c->k,
                                   .v = c->v,
                                   .k_rows = c->k_rows,
                                   .type = c->type};
}

static struct fovea_kv_units units_of_pages(const struct fovea_kv_pages *p)
{
    return (struct fovea_kv_units){.count = p->pages,
                                   .heads = p->kv_heads,
                                   .keys = p->page_keys,
                                   .qk_dim = p->qk_dim,
                                   .v_dim = p->v_dim,
                                   .k = p->k,
                                   .v = p->v,
                                   .k_rows = p->k_rows,
                                   .type = p->type};
}

static enum fovea_status check_cache(const struct fovea_kv_cache *cache)
{
    FOVEA_CHECK(cache != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(cache->struct_size == sizeof *cache, FOVEA_ERR_STRUCT);
    FOVEA_CHECK(cache->k_rows <= 1 && (unsigned)cache->type <= FOVEA_F16, FOVEA_ERR_ENUM);
    return FOVEA_OK;
}

bool fovea_kv_page_fits(size_t keys)
{
    return keys == 16 || keys == 32 || keys == 64 || keys == 128 || keys == 256;
}

static enum fovea_status check_pages(const struct fovea_kv_pages *pool)
{
    FOVEA_CHECK(pool != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(pool->struct_size == sizeof *pool, FOVEA_ERR_STRUCT);
    FOVEA_CHECK(pool->k_rows <= 1 && (unsigned)pool->type <= FOVEA_F16, FOVEA_ERR_ENUM);
    FOVEA_CHECK(fovea_kv_page_fits(pool->page_keys), FOVEA_ERR_VALUE);
    FOVEA_CHECK(pool->pages <= UINT32_MAX, FOVEA_ERR_OVERFLOW);
    return FOVEA_OK;
}

static enum fovea_status units_size(const struct fovea_kv_units *u, size_t *k_elements, size_t *v_elements)
{
    const size_t size = fovea_type_bytes(u->type);
    size_t heads = 0, keys = 0, k = 0, v = 0, bytes = 0;
    FOVEA_CHECK(fovea_mul(u->count, u->heads, &heads), FOVEA_ERR_OVERFLOW);
    FOVEA_CHECK(fovea_add(u->keys, FOVEA_PANEL - 1, &keys), FOVEA_ERR_OVERFLOW);
    keys = u->k_rows ? u->keys : keys - keys % FOVEA_PANEL;
    FOVEA_CHECK(fovea_mul(heads, keys, &k) && fovea_mul(k, u->qk_dim, &k), FOVEA_ERR_OVERFLOW);
    FOVEA_CHECK(fovea_mul(heads, u->keys, &v) && fovea_mul(v, u->v_dim, &v), FOVEA_ERR_OVERFLOW);
    FOVEA_CHECK(fovea_mul(k, size, &bytes) && fovea_mul(v, size, &bytes), FOVEA_ERR_OVERFLOW);
    *k_elements = k;
    *v_elements = v;
    return FOVEA_OK;
}

static enum fovea_status units_strides(const struct fovea_kv_units *u, struct fovea_strides *k, struct fovea_strides *v)
{
    size_t k_elements = 0, v_elements = 0;
    FOVEA_TRY(units_size(u, &k_elements, &v_elements));
    FOVEA_CHECK(k != NULL && v != NULL, FOVEA_ERR_NULL);
    fovea_kv_strides(u, k, v);
    return FOVEA_OK;
}

enum fovea_status fovea_kv_cache_size(const struct fovea_kv_cache *cache, size_t *k_elements, size_t *v_elements)
{
    FOVEA_CHECK(k_elements != NULL && v_elements != NULL, FOVEA_ERR_NULL);
    FOVEA_TRY(check_cache(cache));
    const struct fovea_kv_units u = units_of_cache(cache);
    return units_size(&u, k_elements, v_elements);
}

enum fovea_status fovea_kv_cache_strides(const struct fovea_kv_cache *cache, struct fovea_strides *k,
                                         struct fovea_strides *v)
{
    FOVEA_TRY(check_cache(cache));
    const struct fovea_kv_units u = units_of_cache(cache);
    return units_strides(&u, k, v);
}

enum fovea_status fovea_kv_pages_size(const struct fovea_kv_pages *pool, size_t *k_elements, size_t *v_elements)
{
    FOVEA_CHECK(k_elements != NULL && v_elements != NULL, FOVEA_ERR_NULL);
    FOVEA_TRY(check_pages(pool));
    const struct fovea_kv_units u = units_of_pages(pool);
    return units_size(&u, k_elements, v_elements);
}

enum fovea_status fovea_kv_pages_strides(const struct fovea_kv_pages *pool, struct fovea_strides *k,
                                         struct fovea_strides *v)
{
    FOVEA_TRY(check_pages(pool));
    const struct fovea_kv_units u = units_of_pages(pool);
    return units_strides(&u, k, v);
}

// Whether the last element of a (len, heads, dim) view has an address.
static bool view_fits(size_t len, size_t heads, size_t dim, const struct fovea_strides *strides)
{
    size_t rows = 0, last = 0;
    return fovea_mul(len - 1, strides->row, &rows) && fovea_mul(heads - 1, strides->head, &last) &&
           fovea_add(rows, last, &last) && fovea_add(last, dim, &last) && fovea_mul(last, sizeof(float), &last);
}

// Whether a (len, heads, dim) view is none that is meant: its rows overlap, or neither do all heads lie within a row,
// nor all rows of a head before the next head. Heads may share rows (stride 0).
static bool interleaves(size_t len, size_t heads, size_t dim, const struct fovea_strides *strides)
{
    const size_t in_row = strides->head * (heads - 1) + dim, in_head = strides->row * (len - 1) + dim; // view_fits
    return strides->row < dim || (heads > 1 && strides->head != 0 && (strides->row < in_row || strides->head < dim) &&
                                  strides->head < in_head);
}

// What can be said of new keys and values before anything is written.
static enum fovea_status check_news(const struct fovea_kv_units *u, size_t len, const float *k,
                                    const struct fovea_strides *ks, const float *v, const struct fovea_strides *vs)
{
    if (len == 0 || u->heads == 0) {
        return FOVEA_OK;
    }
    FOVEA_CHECK(u->k != NULL && u->v != NULL && k != NULL && v != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(view_fits(len, u->heads, u->qk_dim, ks) && view_fits(len, u->heads, u->v_dim, vs), FOVEA_ERR_OVERFLOW);
    FOVEA_CHECK(len == 1 || !interleaves(len, u->heads, u->qk_dim, ks), FOVEA_ERR_STRIDE);
    FOVEA_CHECK(len == 1 || !interleaves(len, u->heads, u->v_dim, vs), FOVEA_ERR_STRIDE);
    return FOVEA_OK;
}

// There is at most one piece for each panel that new keys touch. A composite adds up the tasks of several parts.
bool fovea_kv_tasks_fit(size_t batch, size_t len)
{
    size_t tasks = 0;
    return fovea_mul(batch, len / FOVEA_PANEL + 2, &tasks) && tasks <= UINT32_MAX / 8;
}

static struct fovea_kv_units units_of_news(const struct fovea_kv_news *news)
{
    return news->pool != NULL ? units_of_pages(news->pool) : units_of_cache(news->cache);
}

// Pieces of 128 KiB of news, some 20 us of reading and writing from memory: a prompt of thousands of keys is work for
// many.
struct fovea_append_grid fovea_kv_cut(const struct fovea_kv_news *news)
{
    enum { PIECE_BYTES = 128 << 10 };
    const struct fovea_kv_units u = units_of_news(news);
    const size_t key_bytes = u.heads * (u.qk_dim + u.v_dim) * sizeof(float);
    const size_t each = fovea_round_up(fovea_max(PIECE_BYTES / fovea_max(key_bytes, 1), 1), FOVEA_PANEL);
    const size_t before = news->positions != NULL ? FOVEA_PANEL - 1 : news->position % FOVEA_PANEL;
    const size_t keys = news->len + before; // from the first panel on, at most
    return (struct fovea_append_grid){news->len != 0 ? fovea_ceil_div(keys, each) : 0, each};
}

void fovea_kv_write(const struct fovea_engine *engine, const struct fovea_kv_news *news,
                    const struct fovea_append_grid *grid, size_t b, size_t piece)
{
    const struct fovea_kv_units u = units_of_news(news);
    const struct fovea_strides k = {0, u.qk_dim, u.heads * u.qk_dim}, v = {0, u.v_dim, u.heads * u.v_dim};
    const size_t position = news->positions != NULL ? news->positions[b] : news->position;
    const size_t first = news->starts != NULL ? news->starts[b] : b * news->len;
    const size_t len = news->starts != NULL ? news->starts[b + 1] - first : news->len;
    const size_t base = position - position % FOVEA_PANEL + piece * grid->each; // the first from a panel's first key on
    const size_t begin = fovea_max(base, position);
    const size_t end = fovea_min(base + grid->each, position + len);
    const size_t row = first + (begin - position);
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    if (begin >= end) {
        return;
    }
    if (news->pool != NULL) {
        fovea_kv_put_pages(kernels, &u, news->pages + b * news->pages_batch, begin, end - begin, news->k + row * k.row,
                           &k, news->v + row * v.row, &v);
    } else {
        fovea_kv_put(kernels, &u, b, begin, end - begin, news->k + row * k.row, &k, news->v + row * v.row, &v);
    }
}

static const struct fovea_kernels *kernels_of(const struct fovea_engine *engine)
{
    return engine != NULL ? fovea_engine_kernels(engine) : NULL;
}

enum fovea_status fovea_kv_append(const struct fovea_kv_cache *cache, size_t b, size_t pos, size_t len, const float *k,
                                  struct fovea_strides k_strides, const float *v, struct fovea_strides v_strides)
{
    size_t k_elements = 0, v_elements = 0;
    FOVEA_TRY(fovea_kv_cache_size(cache, &k_elements, &v_elements));
    FOVEA_CHECK(b < cache->batch && pos <= cache->capacity && len <= cache->capacity - pos, FOVEA_ERR_SHAPE);
    const struct fovea_kv_units u = units_of_cache(cache);
    FOVEA_TRY(check_news(&u, len, k, &k_strides, v, &v_strides));
    fovea_kv_put(kernels_of(cache->engine), &u, b, pos, len, k, &k_strides, v, &v_strides);
    return FOVEA_OK;
}

enum fovea_status fovea_kv_pages_append(const struct fovea_kv_pages *pool, const uint32_t *table, size_t pos,
                                        size_t len, const float *k, struct fovea_strides k_strides, const float *v,
                                        struct fovea_strides v_strides)
{
    size_t k_elements = 0, v_elements = 0;
    FOVEA_TRY(fovea_kv_pages_size(pool, &k_elements, &v_elements));
    FOVEA_CHECK(pos <= UINT32_MAX && len <= UINT32_MAX - pos, FOVEA_ERR_SHAPE);
    const struct fovea_kv_units u = units_of_pages(pool);
    FOVEA_TRY(check_news(&u, len, k, &k_strides, v, &v_strides));
    FOVEA_CHECK(table != NULL || len == 0, FOVEA_ERR_NULL);
    for (size_t page = pos / u.keys; page * u.keys < pos + len; page++) {
        FOVEA_CHECK(len == 0 || table[page] < pool->pages, FOVEA_ERR_SHAPE);
    }
    fovea_kv_put_pages(kernels_of(pool->engine), &u, table, pos, len, k, &k_strides, v, &v_strides);
    return FOVEA_OK;
}
