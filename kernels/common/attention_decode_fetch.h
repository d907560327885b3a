// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_fetch.h - what decoding prefetches of a cache that comes from memory.
//
// Memory is to deliver all the while. A step of 16 keys prefetches a line of their V, and a step of O one of the next
// K: 8 heads of 128, 4096 keys in panels, went from 79 to 94 % of the read stream on Cascade Lake, with four query
// heads each from 72 to 87. Zen 4 drops a prefetch while all 24 buffers wait, and only its hardware, which follows
// lines in the order they lie, reaches the full rate: so before a chunk's K, and before its V, all of it is asked for
// once more. There 8 heads go from 65 to 95 % in panels and from 36 to 68 % in rows; Cascade Lake is 1.1 to 1.2 times
// as fast without. Of K in rows the next 16 keys, or columns, are asked for a third time: some of 1024 lines in a row
// are still dropped (Zen 4, transposed in scratch 1.24 times as fast, in registers 1.2 for one row, 1.08 for four; 32
// keys ahead 0.94 to 1.0 of it, without the second time 0.87; Zen 5: not measured).
// Part of attention_decode_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_FETCH_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_FETCH_H

#include "kernels/common/attention_decode_few.h"

/// Whether what comes next is prefetched.
static inline int decode_asks(const struct fovea_attention_chunk *chunk)
{
    return chunk->far && !(FV_DECODE_BESIDE && chunk->state.rows <= DECODE_FEW);
}

/// Whether a chunk's K and V are asked for once more just before their use.
static inline int decode_again(const struct fovea_attention_chunk *chunk)
{
    return decode_asks(chunk) && chunk->again;
}

/// Asks for `columns` elements of each of some rows, in the order they lie. Inlined always: gcc 12 takes a function
/// that only prefetches for one without effects, and drops calls of it.
static inline __attribute__((always_inline)) void decode_fetch(const float *at, ptrdiff_t row, size_t rows,
                                                               size_t columns)
{
    enum { LINE = 16 };
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c += LINE) {
            __builtin_prefetch(at + (ptrdiff_t)r * row + c, 0, 2);
        }
    }
}

/// Whether rows of V are asked for one by one, as no step prefetches a masked V (Zen 5: 1.05 to 1.24 times as fast).
static inline int decode_fetches_seen(const struct fovea_attention_chunk *chunk)
{
    return decode_asks(chunk) && chunk->visible && !chunk->scores;
}

/// Asks for V of the keys [j, end) that some row sees; in panels of K hidden ones are among them. Such a key asks for
/// the row before it once more, or for q: a jump that nobody foresees costs more.
static inline __attribute__((always_inline)) void decode_fetch_seen(const struct fovea_attention_chunk *chunk,
                                                                    const uint64_t *seen, size_t j, size_t end)
{
    const float *row = chunk->q;
    const int fetches = decode_fetches_seen(chunk);
    for (; j < end && fetches; j++) {
        row = seen[j] != 0 ? chunk->v + (ptrdiff_t)j * chunk->v_row : row;
        __asm__("" : "+r"(row)); // or gcc jumps
        decode_fetch(row, 0, 1, chunk->state.v_dim);
    }
}

#endif
