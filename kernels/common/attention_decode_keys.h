// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_keys.h - addresses of the keys of a chunk, in one matrix or in blocks of 16.
//
// The kernels never need more than a block at a time: a panel of K, or 16 rows that are transposed in registers. Blocks
// are read in place without a copy, and the next ones can be prefetched: pages of 16 keys, 8 heads of 128, 4096 keys
// from memory, Zen 5, 1.6 to 1.8 times as fast as gathering them first, of 64 keys 1.9 to 2.06.
//
// Part of attention_decode_f32.inc, and of attention_decode_bf16_f32.inc and _f16_f32.inc, where elements have 16 bits.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_KEYS_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_KEYS_H

#include "kernels/common/attention.h"
#include "kernels/fault.h"

#ifdef FV_LOAD_HALF
typedef uint16_t decode_element;
#define FV_LOAD_ELEMENT FV_LOAD_HALF
#else
typedef float decode_element;
#define FV_LOAD_ELEMENT fv_load
#endif
enum {
    DECODE_LINE = 64 / sizeof(decode_element),  ///< elements of a cache line
    DECODE_PAGE = 4096 / sizeof(decode_element) ///< and of a page
};

/// K and V of a chunk that is in one piece.
static inline const decode_element *decode_chunk_k(const struct fovea_decode_chunk *decode)
{
#ifdef FV_LOAD_HALF
    return decode->k_half;
#else
    return decode->chunk.k;
#endif
}

static inline const decode_element *decode_chunk_v(const struct fovea_decode_chunk *decode)
{
#ifdef FV_LOAD_HALF
    return decode->v_half;
#else
    return decode->chunk.v;
#endif
}

/// Elements from one key of K to the next. In panels only the address of a panel's first key follows from it: each key
/// before that counts qk_dim elements.
static inline ptrdiff_t decode_k_row(const struct fovea_attention_chunk *chunk)
{
    return chunk->k_row == 0 ? (ptrdiff_t)chunk->qk_dim : chunk->k_row;
}

/// The address of key j: in `at`, or, if there are blocks, in its block of `of`. NULL if there is neither.
static inline const decode_element *decode_key(const void *at, const void *const *of, size_t j, ptrdiff_t row)
{
    const decode_element *const first = of ? of[j / FOVEA_PANEL] : at;
    return first ? first + (ptrdiff_t)(of ? j % FOVEA_PANEL : j) * row : NULL;
}

static inline const decode_element *decode_k(const struct fovea_decode_chunk *decode, size_t j)
{
    return decode_key(decode_chunk_k(decode), decode->blocks ? decode->blocks->k : NULL, j,
                      decode_k_row(&decode->chunk));
}

static inline const decode_element *decode_v(const struct fovea_decode_chunk *decode, size_t j)
{
    return decode_key(decode_chunk_v(decode), decode->blocks ? decode->blocks->v : NULL, j, decode->chunk.v_row);
}

/// Key j of the next chunk, which is dense, or NULL.
static inline const decode_element *decode_k_ahead(const struct fovea_decode_chunk *decode, size_t j)
{
    return decode_key(decode->hints.k_ahead, decode->blocks ? decode->blocks->k_ahead : NULL, j,
                      (ptrdiff_t)decode->chunk.qk_dim);
}

static inline const decode_element *decode_v_ahead(const struct fovea_decode_chunk *decode, size_t j)
{
    return decode_key(decode->hints.v_ahead, decode->blocks ? decode->blocks->v_ahead : NULL, j,
                      (ptrdiff_t)decode->chunk.state.v_dim);
}

/// Whether block i directly follows the one before it in memory.
static inline int decode_joins(const void *const *of, size_t i, ptrdiff_t row)
{
    const decode_element *const before = of[i - 1];
    return of[i] && before && of[i] == before + FOVEA_PANEL * row;
}

/// The end, at most `end`, of the keys from j on that are contiguous in memory, together with the part of the next K
/// that is prefetched along with them.
static inline size_t decode_joined(const struct fovea_decode_chunk *decode, size_t j, size_t end)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const struct fovea_attention_blocks *const b = decode->blocks;
    if (!b || FOVEA_FAULT_IS(DECODE_JOINS_BLOCKS)) {
        return end;
    }
    size_t i = j / FOVEA_PANEL + 1;
    while (i * FOVEA_PANEL < end && decode_joins(b->k, i, decode_k_row(chunk)) && decode_joins(b->v, i, chunk->v_row) &&
           (!b->k_ahead[i] || decode_joins(b->k_ahead, i, (ptrdiff_t)chunk->qk_dim))) {
        i++;
    }
    return attention_min(i * FOVEA_PANEL, end);
}

#endif
