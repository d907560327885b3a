// SPDX-License-Identifier: Apache-2.0
// ops/kv_cache.c - a cache of keys in panels of 16 and values in rows.
#include "fovea/attention.h"
#include "kernels/kernel.h"
#include "ops/check.h"
#include <string.h>

enum fovea_status fovea_kv_cache_size(const struct fovea_kv_cache *cache, size_t *k_elements, size_t *v_elements)
{
    FOVEA_CHECK(cache != NULL && k_elements != NULL && v_elements != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(cache->struct_size == sizeof *cache, FOVEA_ERR_STRUCT);
    size_t heads = 0, keys = 0, k = 0, v = 0, bytes = 0;
    FOVEA_CHECK(fovea_mul(cache->batch, cache->kv_heads, &heads), FOVEA_ERR_OVERFLOW);
    FOVEA_CHECK(fovea_add(cache->capacity, FOVEA_PANEL - 1, &keys), FOVEA_ERR_OVERFLOW);
    keys -= keys % FOVEA_PANEL;
    FOVEA_CHECK(fovea_mul(heads, keys, &k) && fovea_mul(k, cache->qk_dim, &k), FOVEA_ERR_OVERFLOW);
    FOVEA_CHECK(fovea_mul(heads, cache->capacity, &v) && fovea_mul(v, cache->v_dim, &v), FOVEA_ERR_OVERFLOW);
    FOVEA_CHECK(fovea_mul(k, sizeof(float), &bytes) && fovea_mul(v, sizeof(float), &bytes), FOVEA_ERR_OVERFLOW);
    *k_elements = k;
    *v_elements = v;
    return FOVEA_OK;
}

// Whether the last element of a (len, heads, dim) view has an address.
static bool view_fits(size_t len, size_t heads, size_t dim, const struct fovea_strides *strides)
{
    size_t rows = 0, last = 0;
    return fovea_mul(len - 1, strides->row, &rows) && fovea_mul(heads - 1, strides->head, &last) &&
           fovea_add(rows, last, &last) && fovea_add(last, dim, &last) && fovea_mul(last, sizeof(float), &last);
}

enum fovea_status fovea_kv_append(const struct fovea_kv_cache *cache, size_t b, size_t pos, size_t len, const float *k,
                                  struct fovea_strides k_strides, const float *v, struct fovea_strides v_strides)
{
    size_t k_elements = 0, v_elements = 0;
    FOVEA_TRY(fovea_kv_cache_size(cache, &k_elements, &v_elements));
    FOVEA_CHECK(b < cache->batch && pos <= cache->capacity && len <= cache->capacity - pos, FOVEA_ERR_SHAPE);
    FOVEA_CHECK(k_strides.row >= cache->qk_dim || len <= 1, FOVEA_ERR_STRIDE);
    FOVEA_CHECK(v_strides.row >= cache->v_dim || len <= 1, FOVEA_ERR_STRIDE);
    if (len == 0 || cache->kv_heads == 0) {
        return FOVEA_OK;
    }
    FOVEA_CHECK(cache->k != NULL && cache->v != NULL && k != NULL && v != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(view_fits(len, cache->kv_heads, cache->qk_dim, &k_strides) &&
                    view_fits(len, cache->kv_heads, cache->v_dim, &v_strides),
                FOVEA_ERR_OVERFLOW);
    const size_t k_head = k_elements / cache->batch / cache->kv_heads;
    for (size_t h = 0; h < cache->kv_heads; h++) {
        const size_t head = b * cache->kv_heads + h;
        for (size_t j = 0; j < len; j++) {
            const float *const key = k + j * k_strides.row + h * k_strides.head;
            const size_t lane = (pos + j) % FOVEA_PANEL;
            float *const column = cache->k + head * k_head + (pos + j - lane) * cache->qk_dim + lane;
            for (size_t c = 0; c < cache->qk_dim; c++) {
                column[c * FOVEA_PANEL] = key[c];
            }
            memcpy(cache->v + (head * cache->capacity + pos + j) * cache->v_dim,
                   v + j * v_strides.row + h * v_strides.head, cache->v_dim * sizeof *v);
        }
    }
    return FOVEA_OK;
}
