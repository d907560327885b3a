// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_fetch.h - what decoding prefetches of a cache that comes from memory.
//
// Memory is to deliver all the while. Scores of some keys prefetch as much V as these keys have, and their product with
// V as much of the next K: 8 heads of 128, 4096 keys in panels, went from 79 to 94 % of the read stream on Cascade
// Lake, with four query heads each from 72 to 87.
//
// In parts (FOVEA_INTO_L2_PARTS) what comes next is several streams, of each of which a step asks for a line or two. In
// one stream, in the order it lies, Granite Rapids reads 14.3 GB/s so, in two 15.3, in four 15.6, in eight 15.8. One
// row of K in panels is 1.03 to 1.05 times as fast in parts, two to eight rows 1.05 to 1.06, K in rows 1.08 to 1.11,
// four rows 1.19. Where cores follow few streams nobody measured it.
//
// A prefetch into a page that the TLB does not hold has to walk the page table first, and those behind it wait. So
// beside the lines of the next K or V a line is asked for of each page that comes after these: the walk is over when
// the others come by. Zen 5 (a guest): one row, K in panels 1.12 to 1.24 times as fast, of pages of 4 KiB 1.11 to 1.32,
// in rows 1.17 to 1.22 and 1.13 to 1.18; four rows, K in panels 1.08 to 1.13. (A stream of loads alone goes from 22 to
// 30 GB/s, with huge pages from 32 to 33. All pages of a chunk at once gain half as much.)
//
// Where L1 is as good a place as L2 (FOVEA_INTO_L1: Zen 5, four rows over K in panels 1.2 times as fast, seven 1.15,
// one 1.01; K in rows, one row 1.06 to 1.14, four 0.96 to 1.0, seven 1.09), one and two rows take panels of K one by
// one, as they lie, and half a chunk ahead is too far for them: they prefetch 16 keys ahead, of K, then of V, then of
// the next K, and before the softmax 128 lines more of V, so that memory has work meanwhile. One row 1.06, two 1.08
// beside the former (32 keys alike; more rows 0.95, K in rows 0.84 to 1.02).
//
// Prefetches are dropped while all buffers wait. So of K in rows the next 16 keys, or columns, are asked for once more,
// and the first ones of a chunk between the two products (Zen 4, transposed in scratch 1.24 times as fast, in registers
// 1.2 for one row, 1.08 for four; 32 keys ahead 0.94 to 1.0 of it; Zen 5, one row, first keys 1.14 to 1.23, next keys
// 1.04, four rows 1.0 and 1.24), and the V of more than two rows. On Zen 4, where only the hardware, which follows
// lines in the order they lie, reaches the full rate, all of a chunk is (8 heads in panels 65 to 95 %, in rows 36 to 68
// %; with pages that are asked for not measured), unlike on Cascade Lake (0.83 to 0.91); on Zen 5 where K is transposed
// or three rows meet it (1.0 to 1.08; one row, K in panels, 0.95 to 0.97).
//
// Part of attention_decode_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_FETCH_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_FETCH_H

#include "kernels/common/attention_decode_few.h"
#include "kernels/common/attention_decode_keys.h"

/// Whether what comes next is prefetched.
static inline int decode_asks(const struct fovea_attention_chunk *chunk)
{
    const int beside = FV_DECODE_BESIDE && chunk->beside;
    return chunk->far && !(beside && chunk->state.rows <= DECODE_FEW && !chunk->blocks);
}

/// Whether so many rows take the tiles of attention_decode_few.h. Over blocks of 16 keys only those that cannot do
/// without: a run of 16 is too short for sums of four rows (0.86 of those of GEMM in pages of 16 keys, though 1.13 in
/// pages of 64).
static inline int decode_flat(const struct fovea_attention_chunk *chunk, size_t rows)
{
    const size_t most = chunk->blocks ? DECODE_FEW : decode_asks(chunk) ? DECODE_FLAT_FAR : DECODE_FLAT;
    return rows <= most;
}

/// Whether what comes next of a chunk is asked for once more.
static inline int decode_again(const struct fovea_attention_chunk *chunk)
{
    return decode_asks(chunk) && chunk->again;
}

/// Whether all of a chunk is, its K and then its V just before their use.
static inline int decode_whole(const struct fovea_attention_chunk *chunk)
{
    return decode_asks(chunk) && chunk->whole;
}

/// Asks for `columns` elements of each of some rows, in the order they lie. Inlined always: gcc 12 takes a function
/// that only prefetches for one without effects, and drops calls of it.
static inline __attribute__((always_inline)) void
decode_fetch(const struct fovea_attention_chunk *chunk, const float *at, ptrdiff_t row, size_t rows, size_t columns)
{
    enum { LINE = 16 };
    for (size_t r = 0; r < rows && chunk->into == FOVEA_INTO_L1; r++) {
        for (size_t c = 0; c < columns; c += LINE) {
            __builtin_prefetch(at + (ptrdiff_t)r * row + c, 0, 3);
        }
    }
    for (size_t r = 0; r < rows && chunk->into != FOVEA_INTO_L1; r++) {
        for (size_t c = 0; c < columns; c += LINE) {
            __builtin_prefetch(at + (ptrdiff_t)r * row + c, 0, 2);
        }
    }
}

/// Whether of `keys` keys what is prefetched is 16 keys ahead of its use: of panels one by one, and of V, both dense
/// and seen whole. (Dims of 32 are too near then, 0.98; a V of 256 has two tiles, 0.94.)
static inline int decode_leads(const struct fovea_attention_chunk *chunk, size_t keys)
{
    enum { LEAST = 64, MOST = 128 };
    const size_t v_dim = chunk->state.v_dim;
    return chunk->into == FOVEA_INTO_L1 && decode_asks(chunk) && chunk->state.rows <= DECODE_FEW && chunk->k_row == 0 &&
           !chunk->additive && !chunk->visible && chunk->v_row == (ptrdiff_t)v_dim && chunk->qk_dim >= LEAST &&
           v_dim >= chunk->qk_dim && v_dim <= MOST && keys >= 2 * FOVEA_PANEL;
}

/// Asks for V behind its first 16 keys, which are on their way, where prefetches lead: before the softmax.
static inline __attribute__((always_inline)) void decode_fetch_behind(const struct fovea_attention_chunk *chunk)
{
    enum { MOST = 2048 }; // elements
    if (decode_leads(chunk, chunk->keys) && !chunk->blocks) {
        const size_t behind = (chunk->keys - FOVEA_PANEL) * chunk->state.v_dim;
        decode_fetch(chunk, decode_v(chunk, FOVEA_PANEL), 0, 1, attention_min(behind, MOST));
    }
}

/// Asks for a line of each page that begins in elements [begin, end) from `at` on; of nothing where that is NULL.
static inline __attribute__((always_inline)) void decode_touch(const float *at, size_t begin, size_t end)
{
    for (size_t i = (begin + DECODE_PAGE - 1) / DECODE_PAGE * DECODE_PAGE; at && i < end; i += DECODE_PAGE) {
        __builtin_prefetch(at + i, 0, 2);
    }
}

/// Asks for the first keys of the next chunk's K in rows, where nothing else is asked for: between the two products.
/// (More rows: 0.9.)
static inline __attribute__((always_inline)) void decode_fetch_first(const struct fovea_attention_chunk *chunk)
{
    const float *const first = decode_k_ahead(chunk, 0);
    if (chunk->state.rows <= DECODE_FEW && decode_again(chunk) && chunk->k_row != 0 && first) {
        decode_fetch(chunk, first, chunk->k_row, FOVEA_PANEL, chunk->qk_dim);
    }
}

/// Whether rows of V are asked for one by one, as few keys are seen (Zen 5: against none 1.05 to 1.24 times as fast).
/// Where half of them are, at random, all of V is asked for: 1.09 times as fast.
static inline int decode_fetches_seen(const struct fovea_attention_chunk *chunk, const uint64_t *seen)
{
    size_t count = 0;
    for (size_t j = 0; j < chunk->keys && chunk->visible; j++) {
        count += seen[j] != 0;
    }
    return chunk->visible && 8 * count < 3 * chunk->keys;
}

/// Asks for V of the keys [j, end) that some row sees; in panels of K hidden ones are among them. Such a key asks for
/// the row before it once more, or for q: a jump that nobody foresees costs more.
static inline __attribute__((always_inline)) void decode_fetch_seen(const struct fovea_attention_chunk *chunk,
                                                                    const uint64_t *seen, size_t j, size_t end)
{
    const float *row = chunk->q;
    for (; j < end; j++) {
        row = seen[j] != 0 ? decode_v(chunk, j) : row;
        __asm__("" : "+r"(row)); // or gcc jumps
        decode_fetch(chunk, row, 0, 1, chunk->state.v_dim);
    }
}

#endif
