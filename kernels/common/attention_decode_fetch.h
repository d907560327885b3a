// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_fetch.h - what decoding prefetches when the cache comes, or may come, from memory.
//
// Memory should be kept busy throughout. While the scores of some keys are computed, as much V as these keys have is
// prefetched; while their product with V is computed, as much of the next K: 8 heads of 128, 4096 keys in panels, went
// from 79 to 94 % of the read stream on Cascade Lake, with four query heads each from 72 to 87.
//
// FOVEA_INTO_L2_PARTS: the data to prefetch is split into several streams, and each step prefetches a line or two of
// each. Granite Rapids reads one stream in memory order at 14.3 GB/s, two at 15.3, four at 15.6, eight at 15.8. With
// parts one row of K in panels is 1.03 to 1.05 times as fast, two to eight rows 1.05 to 1.06, K in rows 1.08 to 1.11,
// four rows 1.19. Not measured on cores that follow few streams.
//
// A prefetch into a page that the TLB does not hold has to walk the page table first, and the prefetches behind it
// stall. So in addition to the lines of the next K or V, one line of each page that comes after these is prefetched: by
// the time the other prefetches reach the page, its walk is over. Zen 5 (a guest): one row, K in panels 1.12 to 1.24
// times as fast, with pages of 4 KiB 1.11 to 1.32, K in rows 1.17 to 1.22 and 1.13 to 1.18; four rows, K in panels 1.08
// to 1.13. (A stream of loads alone goes from 22 to 30 GB/s, with huge pages from 32 to 33. Touching all pages of a
// chunk at once gains half as much.)
//
// FOVEA_INTO_L1 is for cores on which prefetching into L1 is as good as into L2 (Zen 5: four rows over K in panels 1.2
// times as fast, seven 1.15, one 1.01; K in rows, one row 1.06 to 1.14, four 0.96 to 1.0, seven 1.09). One and two rows
// process the panels of K one by one, in memory order, and half a chunk ahead is too far for them. They prefetch 16
// keys ahead: K, then V, then the next K; and before the softmax 128 more lines of V, so that memory stays busy during
// it. One row 1.06, two 1.08 over the former scheme (32 keys ahead alike; more rows 0.95, K in rows 0.84 to 1.02).
//
// The core drops software prefetches when its fill buffers are full. For K in rows we therefore prefetch the next 16
// keys (or the next block of columns) again shortly before use, and the first keys of the next chunk between the two
// products (Zen 4, transposed in scratch 1.24 times as fast, in registers 1.2 for one row, 1.08 for four; 32 keys ahead
// 0.94 to 1.0 of it; Zen 5, one row, first keys 1.14 to 1.23, next keys 1.04, four rows 1.0 and 1.24). For more than
// two rows V is prefetched again, too. On Zen 4 only the hardware prefetcher, which follows lines in memory order,
// reaches the full rate, so all of a chunk is prefetched again (8 heads in panels 65 to 95 %, in rows 36 to 68 %; not
// measured together with the prefetches of pages). On Cascade Lake that loses (0.83 to 0.91); on Zen 5 it gains where K
// is transposed or for three rows and more (1.0 to 1.08; one row, K in panels, 0.95 to 0.97).
//
// Part of attention_decode_f32.inc, and of attention_decode_bf16_f32.inc and _f16_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_FETCH_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_FETCH_H

#include "kernels/common/attention_decode_few.h"
#include "kernels/common/attention_decode_keys.h"

/// Whether the chunk's kernel prefetches what comes next.
static inline int decode_asks(const struct fovea_decode_chunk *decode)
{
    const int beside = FV_DECODE_BESIDE && decode->hints.beside;
    return decode->hints.far && !(beside && decode->chunk.state.rows <= DECODE_FEW && !decode->blocks);
}

/// Whether this many rows use the tiles of attention_decode_few.h. Over blocks of 16 keys only one and two rows do,
/// which have no alternative: a run of 16 keys is too short for the sums of four rows (0.86 of the speed of GEMM tiles
/// with pages of 16 keys, though 1.13 with pages of 64). If prefetches are a precaution, as many as from L2. Over
/// elements of 16 bits all do: there is no other product.
static inline int decode_flat(const struct fovea_decode_chunk *decode, size_t rows)
{
    const int far = decode_asks(decode) && !decode->hints.in_case;
    const size_t most = decode->blocks ? DECODE_FEW : far ? DECODE_FLAT_FAR : DECODE_FLAT;
    return sizeof(decode_element) < sizeof(float) || rows <= most;
}

/// Whether the next part of a chunk is prefetched a second time just before use.
static inline int decode_again(const struct fovea_decode_chunk *decode)
{
    return decode_asks(decode) && decode->hints.again;
}

/// Whether all of a chunk is prefetched a second time: its K, then its V, just before use.
static inline int decode_whole(const struct fovea_decode_chunk *decode)
{
    return decode_asks(decode) && decode->hints.whole;
}

/// Prefetches `columns` elements of each of `rows` rows, in memory order. Always inlined: gcc 12 takes a function that
/// only prefetches for one without side effects, and drops calls of it.
static inline __attribute__((always_inline)) void decode_fetch(const struct fovea_decode_chunk *decode,
                                                               const decode_element *at, ptrdiff_t row, size_t rows,
                                                               size_t columns)
{
    for (size_t r = 0; r < rows && decode->hints.into == FOVEA_INTO_L1; r++) {
        for (size_t c = 0; c < columns; c += DECODE_LINE) {
            __builtin_prefetch(at + (ptrdiff_t)r * row + c, 0, 3);
        }
    }
    for (size_t r = 0; r < rows && decode->hints.into != FOVEA_INTO_L1; r++) {
        for (size_t c = 0; c < columns; c += DECODE_LINE) {
            __builtin_prefetch(at + (ptrdiff_t)r * row + c, 0, 2);
        }
    }
}

/// Whether the prefetches of `keys` keys run 16 keys ahead of use: over panels one by one, and over V, if both are
/// dense and all keys are seen. (With dims of 32 that is too close, 0.98; a V of 256 has two tiles, 0.94.)
static inline int decode_leads(const struct fovea_decode_chunk *decode, size_t keys)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    enum { LEAST = 64, MOST = 128 };
    const size_t v_dim = chunk->state.v_dim;
    return decode->hints.into == FOVEA_INTO_L1 && decode_asks(decode) && chunk->state.rows <= DECODE_FEW &&
           chunk->k_row == 0 && !chunk->additive && !chunk->visible && chunk->v_row == (ptrdiff_t)v_dim &&
           chunk->qk_dim >= LEAST && v_dim >= chunk->qk_dim && v_dim <= MOST && keys >= 2 * FOVEA_PANEL;
}

/// Where prefetches run ahead: prefetches V after its first 16 keys, which are already under way, before the softmax.
static inline __attribute__((always_inline)) void decode_fetch_behind(const struct fovea_decode_chunk *decode)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    enum { MOST = 2048 }; // elements
    if (decode_leads(decode, chunk->keys) && !decode->blocks) {
        const size_t behind = (chunk->keys - FOVEA_PANEL) * chunk->state.v_dim;
        decode_fetch(decode, decode_v(decode, FOVEA_PANEL), 0, 1, attention_min(behind, MOST));
    }
}

/// Prefetches a part of the 16 rows from `next` on into L1: as many lines as `dims` of their elements are, while those
/// from the c-th on of the rows before are read. Of dense rows the lines are in memory order, and every `every`-th of
/// them (0: none) `further` keys further on is prefetched into L2: what is dropped now was asked for then. Zen 4, 512
/// keys of 64 and 128, from memory and in L2, times as fast: beside V (attention_decode_near.h), every second line 32
/// keys further, 1.05 to 1.14 and 0.98 to 1.0 (all lines, 16 keys further, 1.01 to 1.14 and 0.96 to 0.98); alone, three
/// to six rows, all lines, 16 keys further, 1.11 to 1.14 and 0.95 to 0.98 (every second line 32 keys further 0.96
/// to 1.01 and 0.97).
static inline __attribute__((always_inline)) void decode_fetch_next(const float *next, ptrdiff_t k_row, size_t qk_dim,
                                                                    size_t c, int dims, int every, int further)
{
    const ptrdiff_t column = (ptrdiff_t)(c % FOVEA_LINE);
    const int dense = k_row == (ptrdiff_t)qk_dim;
    const float *line = next + c * FOVEA_PANEL, *row = next + (ptrdiff_t)c - column + column * k_row;
    for (int i = 0; dense && i < dims; i++) { // in a burst: a chain of addresses delays them, 0.9
        __builtin_prefetch(line + i * FOVEA_LINE, 0, 3);
        if (every != 0 && i % every == 0) {
            __builtin_prefetch(line + i * FOVEA_LINE + further * k_row, 0, 2);
        }
    }
    for (int i = 0; !dense && i < dims; i++, row += k_row) {
        __builtin_prefetch(row, 0, 3);
    }
}

/// Prefetches one line of each page that begins in elements [begin, end) from `at` on; nothing if `at` is NULL.
static inline __attribute__((always_inline)) void decode_touch(const decode_element *at, size_t begin, size_t end)
{
    for (size_t i = (begin + DECODE_PAGE - 1) / DECODE_PAGE * DECODE_PAGE; at && i < end; i += DECODE_PAGE) {
        __builtin_prefetch(at + i, 0, 2);
    }
}

/// For few rows and K in rows: prefetches the first keys of the next chunk between the two products, where nothing else
/// is prefetched. (With more rows: 0.9.)
static inline __attribute__((always_inline)) void decode_fetch_first(const struct fovea_decode_chunk *decode)
{
    const decode_element *const first = decode_k_ahead(decode, 0);
    if (decode->chunk.state.rows <= DECODE_FEW && decode_again(decode) && decode->chunk.k_row != 0 && first) {
        decode_fetch(decode, first, decode->chunk.k_row, FOVEA_PANEL, decode->chunk.qk_dim);
    }
}

/// Whether rows of V are prefetched one by one because few keys are seen (Zen 5: against no prefetch 1.05 to 1.24 times
/// as fast). If half of the keys are seen, at random, prefetching all of V is 1.09 times as fast.
static inline int decode_fetches_seen(const struct fovea_attention_chunk *chunk, const uint64_t *seen)
{
    size_t count = 0;
    for (size_t j = 0; j < chunk->keys && chunk->visible; j++) {
        count += seen[j] != 0;
    }
    return chunk->visible && 8 * count < 3 * chunk->keys;
}

/// Prefetches V of the keys in [j, end) that some row sees; with K in panels hidden ones are among them. A hidden key
/// prefetches the row before it again, or q: a mispredicted branch would cost more.
static inline __attribute__((always_inline)) void decode_fetch_seen(const struct fovea_decode_chunk *decode,
                                                                    const uint64_t *seen, size_t j, size_t end)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const decode_element *row = (const void *)chunk->q;
    for (; j < end; j++) {
        row = seen[j] != 0 ? decode_v(decode, j) : row;
        __asm__("" : "+r"(row)); // or gcc jumps
        decode_fetch(decode, row, 0, 1, chunk->state.v_dim);
    }
}

#endif
