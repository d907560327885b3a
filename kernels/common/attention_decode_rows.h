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

/// Scores of T times 16 keys from k on, for R rows from `row` on. ahead: NULL, as for T = 2, or where as much as their
/// K is prefetched of decode_streams that lie `stream` elements apart.
static inline __attribute__((always_inline)) void decode_register_tile(const struct fovea_attention_chunk *chunk,
                                                                       const float *k, size_t row, const float *ahead,
                                                                       ptrdiff_t stream, float *s, int R, int T)
{
    enum { LINE = 16 };
    const float *const q = chunk->q + (ptrdiff_t)row * chunk->q_row;
    const size_t streams = decode_streams(chunk), asked = FOVEA_PANEL * LINE / streams;
    fv_f32 sums[FV_REGISTER_ROWS];
    FV_UNROLL
    for (int r = 0; r < R * T; r++) {
        sums[r] = fv_zero();
    }
    for (size_t c = 0; c < chunk->qk_dim; c += LINE) {
        if (ahead && T == 1) {
            decode_fetch(chunk, ahead, stream, streams, asked);
            ahead += asked;
        }
        FV_UNROLL
        for (int t = 0; t < T; t++) {
            const float *keys = k + (ptrdiff_t)(t * FOVEA_PANEL) * chunk->k_row + c;
            if (T > 1) {
                __asm__("" : "+r"(keys)); // or gcc keeps a pointer for each key, on the stack
            }
            fv_register_rows(keys, chunk->k_row, q + c, chunk->q_row, 1, sums + t * R, R);
        }
    }
    FV_UNROLL
    for (int r = 0; r < R * T; r++) {
        fv_store(s + (row + (size_t)(r % R)) * FOVEA_CHUNK + r / R * FOVEA_PANEL, sums[r]);
    }
}

#define DECODE_REGISTER_TILE(R, T)                                                                                     \
    static void decode_register_##R##x##T(const struct fovea_attention_chunk *chunk, const float *k, size_t row,       \
                                          const float *ahead, ptrdiff_t stream, float *s)                              \
    {                                                                                                                  \
        decode_register_tile(chunk, k, row, ahead, stream, s, R, T);                                                   \
    }
DECODE_REGISTER_TILE(1, 1)
DECODE_REGISTER_TILE(1, 2)
DECODE_REGISTER_TILE(2, 1)
DECODE_REGISTER_TILE(3, 1)
DECODE_REGISTER_TILE(4, 1)
DECODE_REGISTER_TILE(5, 1)
DECODE_REGISTER_TILE(6, 1)

/// Whole sixteens of the keys [j, end); v: NULL, or what of V is prefetched with each key; pages: NULL, or those of the
/// next K. After them come, up to `most`, keys that are read, too. Returns how many keys were taken. A step of one row
/// waits for the one before it, so two sixteens go side by side: 1.05 to 1.1 times as fast, though with prefetches 0.96
/// to 1.0, and one by one there. From memory seven and eight rows are two halves, each of which transposes the keys:
/// 1.05 to 1.07 (Granite Rapids).
static size_t decode_register_rows(const struct fovea_attention_chunk *chunk, size_t j, size_t end, size_t most,
                                   const float *v, const float *pages, float *s)
{
    typedef void tile_fn(const struct fovea_attention_chunk *, const float *, size_t, const float *, ptrdiff_t,
                         float *);
    static tile_fn *const tiles[FV_REGISTER_ROWS] = {decode_register_1x1, decode_register_2x1, decode_register_3x1,
                                                     decode_register_4x1, decode_register_5x1, decode_register_6x1};
    _Static_assert(sizeof tiles / sizeof *tiles == 6, "a tile for each number of rows");
    const size_t rows = chunk->state.rows, first = j, of_key = chunk->qk_dim / decode_streams(chunk);
    const ptrdiff_t stream = (ptrdiff_t)((end - j) / FOVEA_PANEL * FOVEA_PANEL * of_key);
    const size_t part = rows <= FV_REGISTER_ROWS ? rows : (rows + 1) / 2;
    if (rows > (decode_asks(chunk) ? DECODE_FLAT_FAR : FV_REGISTER_ROWS) || chunk->qk_dim % FOVEA_PANEL != 0) {
        return 0;
    }
    for (size_t keys; j + FOVEA_PANEL <= end; j += keys) {
        const int pair = rows == 1 && !decode_asks(chunk) && j + 2 * FOVEA_PANEL <= end;
        keys = pair ? 2 * FOVEA_PANEL : FOVEA_PANEL;
        if (decode_again(chunk) && j + 2 * keys <= most) {
            decode_fetch(chunk, decode_k(chunk, j + keys), chunk->k_row, keys, chunk->qk_dim);
        }
        decode_touch(pages, 0, keys * chunk->qk_dim);
        for (size_t r = 0, n; r < rows; r += n) {
            n = attention_min(part, rows - r);
            (pair ? decode_register_1x2 : tiles[n - 1])(chunk, decode_k(chunk, j), r, r == 0 ? v : NULL, stream, s + j);
        }
        v = v ? v + keys * of_key : NULL;
        pages = pages ? pages + keys * chunk->qk_dim : NULL;
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
