// SPDX-License-Identifier: Apache-2.0
// fovea/kv_cache.h - storage for keys and values of past tokens: one block per sequence, or pages that sequences share.
//
// Both store V in rows, and K either in panels of 16 keys, which decoding streams, or in rows, as other programs do.
// They are plain memory owned by the caller, need no initialisation, and are appended to in place.
//
// Elements are f32, bf16 or f16. 16 bits halve the memory, and what decoding reads. Keys and values are rounded once,
// when they are appended: to nearest, ties to even. f16 has 11 significant bits, and numbers from 65520 on become
// infinite; bf16 has 8, and the range of f32. Everything after that has the bits of the same numbers in a cache of f32.
#ifndef FOVEA_KV_CACHE_H
#define FOVEA_KV_CACHE_H

#include "fovea/attention.h"
#include "fovea/type.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A cache of keys and values for one layer: for each (batch, head) K in panels of 16 keys or in rows, and V in rows.
/// Sequence b of a call has the keys of batch b, so a sequence keeps its number. In a ragged batch a number that is
/// free, or waits, has no rows (starts[b] equals starts[b + 1]), and its keys stay as they are.
struct fovea_kv_cache {
    uint32_t struct_size; ///< sizeof(struct fovea_kv_cache)
    uint32_t k_rows;      ///< 1: K lies in rows, as V does; 0: in panels
    /// capacity in keys. kv_heads is the number itself: 0 is a cache of no heads, not the default of a descriptor.
    size_t batch, kv_heads, capacity;
    size_t qk_dim, v_dim;
    void *k; ///< batch x kv_heads x ceil(capacity / 16) * 16 * qk_dim elements: element c of key j of a head is number
             ///< j / 16 * 16 * qk_dim + c * 16 + j % 16 of it. With k_rows batch x kv_heads x capacity x qk_dim
    void *v; ///< batch x kv_heads x capacity x v_dim elements
    enum fovea_type type; ///< of the elements of k and v; default FOVEA_F32. Both are aligned to their elements
    /// NULL, or whose kernels fovea_kv_append uses, with the same bits: without them long prompts take two to ten
    /// times as long. fovea_mha and fovea_layer use those of their plan.
    const struct fovea_engine *engine;
};
/// Number of elements of k and v for the sizes set in cache; each has fovea_type_bytes(cache->type) bytes. The limit of
/// 1 to 512 on dims is not checked here but by the attention plan. Errors: NULL, STRUCT, ENUM (k_rows, type), OVERFLOW.
FOVEA_API enum fovea_status fovea_kv_cache_size(const struct fovea_kv_cache *cache, size_t *k_elements,
                                                size_t *v_elements);
/// The strides of the cache's K and V in elements, for a fovea_attention_desc. Its k_layout must be FOVEA_K_PANELS, or
/// FOVEA_K_ROWS with k_rows. By its batch strides some sequences of a cache, or one, are a cache of their own: of a
/// smaller batch, and with k and v that begin at the first of them. Errors: NULL, STRUCT, ENUM, OVERFLOW.
FOVEA_API enum fovea_status fovea_kv_cache_strides(const struct fovea_kv_cache *cache, struct fovea_strides *k,
                                                   struct fovea_strides *v);
/// Writes `len` keys and values of batch b at positions pos..pos+len-1 of the cache. k and v are f32, (len, Hkv, d)
/// views: k[j * k_strides.row + h * k_strides.head + c]; the batch strides are ignored. They are rounded to the type of
/// the cache, and must not overlap it. Nothing else of the cache is touched.
/// Errors: NULL, STRUCT, ENUM, OVERFLOW, SHAPE (past the capacity; b is no batch of the cache), STRIDE (rows overlap,
/// or neither do all heads lie within a row, nor all rows of a head before the next head; but heads may share rows, by
/// a head stride of 0).
FOVEA_API enum fovea_status fovea_kv_append(const struct fovea_kv_cache *cache, size_t b, size_t pos, size_t len,
                                            const float *k, struct fovea_strides k_strides, const float *v,
                                            struct fovea_strides v_strides);

/// A pool of pages of keys and values for one layer. A sequence is a table of page numbers, one per page_keys keys.
struct fovea_kv_pages {
    uint32_t struct_size;   ///< sizeof(struct fovea_kv_pages)
    uint32_t page_keys;     ///< keys per page: 16, 32, 64, 128 or 256
    size_t pages, kv_heads; ///< pages is below 2^32; kv_heads as in a cache
    size_t qk_dim, v_dim;
    void *k;              ///< pages x kv_heads x page_keys * qk_dim elements, in panels of 16 keys or in rows
    void *v;              ///< pages x kv_heads x page_keys x v_dim elements
    uint32_t k_rows;      ///< 1: K lies in rows, as V does; 0: in panels
    enum fovea_type type; ///< of the elements of k and v, as in a cache; default FOVEA_F32
    const struct fovea_engine *engine; ///< NULL, or whose kernels fovea_kv_pages_append uses, as in a cache
};
/// As fovea_kv_cache_size and fovea_kv_cache_strides; the batch stride is the stride between pages. Errors: NULL,
/// STRUCT, ENUM (k_rows, type), VALUE (page_keys), OVERFLOW.
FOVEA_API enum fovea_status fovea_kv_pages_size(const struct fovea_kv_pages *pool, size_t *k_elements,
                                                size_t *v_elements);
FOVEA_API enum fovea_status fovea_kv_pages_strides(const struct fovea_kv_pages *pool, struct fovea_strides *k,
                                                   struct fovea_strides *v);
/// As fovea_kv_append, for the sequence with this page table: writes `len` keys and values at its positions
/// pos..pos+len-1. Only the table's entries for these positions are read. Errors: those of fovea_kv_pages_size, SHAPE
/// (an entry is not a page of the pool, or a position beyond 2^32), STRIDE.
FOVEA_API enum fovea_status fovea_kv_pages_append(const struct fovea_kv_pages *pool, const uint32_t *table, size_t pos,
                                                  size_t len, const float *k, struct fovea_strides k_strides,
                                                  const float *v, struct fovea_strides v_strides);

#ifdef __cplusplus
}
#endif

#endif
