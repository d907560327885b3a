// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_rows.h - natural rows of K against a few queries, transposed in registers, where the
// ISA has FV_REGISTER_ROWS of them.
//
// Part of attention_decode_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_ROWS_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_ROWS_H

#include "kernels/common/attention_decode_fetch.h"

#ifdef FV_REGISTER_ROWS
/// Parts of V that are asked for side by side: on its way into L2 (attention_decode_fetch.h).
static inline size_t decode_streams(const struct fovea_attention_chunk *chunk)
{
    return chunk->into_l1 ? 1 : 8;
}

/// Scores of 16 keys from k on, for R rows. ahead: NULL, or where as much as their K is prefetched of decode_streams
/// that lie `stream` elements apart. (Two sixteens side by side, for a chain of one row waits at each step, are not
/// faster.)
static inline __attribute__((always_inline)) void decode_register_tile(const struct fovea_attention_chunk *chunk,
                                                                       const float *k, const float *ahead,
                                                                       ptrdiff_t stream, float *s, int R)
{
    enum { LINE = 16, ASKED = FOVEA_PANEL * LINE };
    const size_t streams = decode_streams(chunk);
    fv_f32 sums[FV_REGISTER_ROWS];
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        sums[r] = fv_zero();
    }
    for (size_t c = 0; c < chunk->qk_dim; c += LINE) {
        if (ahead) {
            decode_fetch(chunk, ahead, stream, streams, ASKED / streams);
            ahead += ASKED / streams;
        }
        fv_register_rows(k + c, chunk->k_row, chunk->q + c, chunk->q_row, 1, sums, R);
    }
    FV_UNROLL
    for (int r = 0; r < R; r++) {
        fv_store(s + r * FOVEA_CHUNK, sums[r]);
    }
}

#define DECODE_REGISTER_TILE(R)                                                                                        \
    static void decode_register_##R(const struct fovea_attention_chunk *chunk, const float *k, const float *ahead,     \
                                    ptrdiff_t stream, float *s)                                                        \
    {                                                                                                                  \
        decode_register_tile(chunk, k, ahead, stream, s, R);                                                           \
    }
DECODE_REGISTER_TILE(1)
DECODE_REGISTER_TILE(2)
DECODE_REGISTER_TILE(3)
DECODE_REGISTER_TILE(4)
DECODE_REGISTER_TILE(5)
DECODE_REGISTER_TILE(6)

/// Whole sixteens of the keys [j, end); v: NULL, or what of V is prefetched with each key; pages: NULL, or those of the
/// next K. After them come, up to `most`, keys that are read, too. Returns how many keys were taken.
static size_t decode_register_rows(const struct fovea_attention_chunk *chunk, size_t j, size_t end, size_t most,
                                   const float *v, const float *pages, float *s)
{
    typedef void tile_fn(const struct fovea_attention_chunk *, const float *, const float *, ptrdiff_t, float *);
    static tile_fn *const tiles[FV_REGISTER_ROWS] = {decode_register_1, decode_register_2, decode_register_3,
                                                     decode_register_4, decode_register_5, decode_register_6};
    _Static_assert(sizeof tiles / sizeof *tiles == 6, "a tile for each number of rows");
    const size_t rows = chunk->state.rows, first = j, asked = FOVEA_PANEL * chunk->qk_dim / decode_streams(chunk);
    const ptrdiff_t stream = (ptrdiff_t)((end - j) / FOVEA_PANEL * asked);
    if (rows > FV_REGISTER_ROWS || chunk->qk_dim % FOVEA_PANEL != 0) {
        return 0;
    }
    for (; j + FOVEA_PANEL <= end; j += FOVEA_PANEL) {
        if (decode_again(chunk) && j + 2 * FOVEA_PANEL <= most) {
            decode_fetch(chunk, decode_k(chunk, j + FOVEA_PANEL), chunk->k_row, FOVEA_PANEL, chunk->qk_dim);
        }
        decode_touch(pages, 0, FOVEA_PANEL * chunk->qk_dim);
        tiles[rows - 1](chunk, decode_k(chunk, j), v, stream, s + j);
        v = v ? v + asked : NULL;
        pages = pages ? pages + FOVEA_PANEL * chunk->qk_dim : NULL;
    }
    return j - first;
}
#else
static inline size_t decode_register_rows(const struct fovea_attention_chunk *chunk, size_t j, size_t end, size_t most,
                                          const float *v, const float *pages, float *s)
{
    (void)chunk, (void)j, (void)end, (void)most, (void)v, (void)pages, (void)s;
    return 0;
}
#endif

#endif
