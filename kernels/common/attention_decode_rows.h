// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_rows.h - natural rows of K against a few queries, transposed in registers, where the
// ISA has FV_REGISTER_ROWS of them.
//
// A step of one row waits for the one before it, so two sixteens of keys go side by side: 1.07 to 1.11 times as fast on
// Granite Rapids, but beside prefetches 0.96 to 1.0, and one by one there. Of two rows and more one waits for the
// other.
//
// In parts, seven and eight rows are two halves, for each of which keys are transposed anew: what comes next is asked
// for as evenly as K is read, where transposed in scratch it comes in bursts (Granite Rapids, 1.05 to 1.07).
//
// Part of attention_decode_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_ROWS_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_ROWS_H

#include "kernels/common/attention_decode_fetch.h"

#ifdef FV_REGISTER_ROWS
/// Parts of V that are asked for side by side.
static inline size_t decode_parts(const struct fovea_attention_chunk *chunk)
{
    return chunk->into == FOVEA_INTO_L2_PARTS ? 8 : 1;
}

/// How many rows are taken so.
static inline size_t decode_register_most(const struct fovea_attention_chunk *chunk)
{
    enum { HALVES = 8 };
    return decode_asks(chunk) && decode_parts(chunk) > 1 ? HALVES : FV_REGISTER_ROWS;
}

/// Scores of T times 16 keys from k on, for R rows from `row` on. ahead: NULL (always where T is 2), or of V, as much
/// as these keys are is prefetched, of each of decode_parts that lie `part` elements apart.
static inline __attribute__((always_inline)) void decode_register_tile(const struct fovea_attention_chunk *chunk,
                                                                       const float *k, size_t row, const float *ahead,
                                                                       ptrdiff_t part, float *s, int R, int T)
{
    enum { LINE = 16 };
    const float *const q = chunk->q + (FOVEA_FAULT_IS(DECODE_HALF_IS_FIRST) ? 0 : (ptrdiff_t)row * chunk->q_row);
    const size_t parts = decode_parts(chunk), asked = FOVEA_PANEL * LINE / parts;
    fv_f32 sums[FV_REGISTER_ROWS];
    FV_UNROLL
    for (int r = 0; r < R * T; r++) {
        sums[r] = fv_zero();
    }
    for (size_t c = 0; c < chunk->qk_dim; c += LINE) {
        if (ahead && T == 1) {
            decode_fetch(chunk, ahead, part, parts, asked);
            ahead += asked;
        }
        FV_UNROLL
        for (int t = 0; t < T; t++) {
            const float *first = k + (FOVEA_FAULT_IS(DECODE_PAIR_IS_FIRST) ? 0 : t * FOVEA_PANEL * chunk->k_row) + c;
            if (T > 1) {
                __asm__("" : "+r"(first)); // or gcc keeps a pointer for each key, on the stack
            }
            fv_register_rows(first, chunk->k_row, q + c, chunk->q_row, 1, sums + t * R, R);
        }
    }
    FV_UNROLL
    for (int r = 0; r < R * T; r++) {
        fv_store(s + (row + (size_t)(r % R)) * FOVEA_CHUNK + r / R * FOVEA_PANEL, sums[r]);
    }
}

#define DECODE_REGISTER_TILE(R, T)                                                                                     \
    static void decode_register_##R##x##T(const struct fovea_attention_chunk *chunk, const float *k, size_t row,       \
                                          const float *ahead, ptrdiff_t part, float *s)                                \
    {                                                                                                                  \
        _Static_assert((R) * (T) <= FV_REGISTER_ROWS, "a sum for each");                                               \
        decode_register_tile(chunk, k, row, ahead, part, s, R, T);                                                     \
    }
DECODE_REGISTER_TILE(1, 1)
DECODE_REGISTER_TILE(1, 2)
DECODE_REGISTER_TILE(2, 1)
DECODE_REGISTER_TILE(3, 1)
DECODE_REGISTER_TILE(4, 1)
DECODE_REGISTER_TILE(5, 1)
DECODE_REGISTER_TILE(6, 1)

/// Whole sixteens of the keys [j, end); v: NULL, or V, of which as much as these keys are is prefetched; pages: NULL,
/// or those of the next K. After them come, up to `most`, keys that are read, too. Returns how many keys were taken.
static size_t decode_register_rows(const struct fovea_attention_chunk *chunk, size_t j, size_t end, size_t most,
                                   const float *v, const float *pages, float *s)
{
    typedef void tile_fn(const struct fovea_attention_chunk *, const float *, size_t, const float *, ptrdiff_t,
                         float *);
    static tile_fn *const tiles[FV_REGISTER_ROWS] = {decode_register_1x1, decode_register_2x1, decode_register_3x1,
                                                     decode_register_4x1, decode_register_5x1, decode_register_6x1};
    _Static_assert(sizeof tiles / sizeof *tiles == 6, "a tile for each number of rows");
    const size_t rows = chunk->state.rows, half = rows <= FV_REGISTER_ROWS ? rows : (rows + 1) / 2, first = j;
    const size_t of_key = chunk->qk_dim / decode_parts(chunk); // elements of each part beside a key
    const ptrdiff_t part = (ptrdiff_t)((end - j) / FOVEA_PANEL * FOVEA_PANEL * of_key);
    if (rows > decode_register_most(chunk) || chunk->qk_dim % FOVEA_PANEL != 0) {
        return 0;
    }
    for (size_t keys; j + FOVEA_PANEL <= end; j += keys) {
        const int pair = rows == 1 && !decode_asks(chunk) && j + 2 * FOVEA_PANEL <= end;
        keys = pair ? 2 * FOVEA_PANEL : FOVEA_PANEL;
        if (decode_again(chunk) && j + 2 * FOVEA_PANEL <= most) { // which asks, so there is no pair
            decode_fetch(chunk, decode_k(chunk, j + FOVEA_PANEL), chunk->k_row, FOVEA_PANEL, chunk->qk_dim);
        }
        decode_touch(pages, 0, keys * chunk->qk_dim);
        for (size_t r = 0, n; r < rows; r += n) {
            n = attention_min(half, rows - r);
            (pair ? decode_register_1x2 : tiles[n - 1])(chunk, decode_k(chunk, j), r, r == 0 ? v : NULL, part, s + j);
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
