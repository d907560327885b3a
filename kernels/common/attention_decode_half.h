// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_half.h - the two products of decoding over K in panels and V of 16-bit elements.
//
// Elements are widened in registers, by the tiles of attention_decode_few.h, which take all rows: a vector of 16 costs
// two operations, once for up to eight rows, and memory half of the time.
//
// Part of attention_decode_bf16_f32.inc and _f16_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_HALF_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_HALF_H

#include "kernels/common/attention_decode_beside.h"
#include "kernels/common/attention_decode_fetch.h"
#include "kernels/common/attention_decode_few.h"
#include "kernels/common/attention_decode_seen.h"

#include <string.h>

/// No keys are transposed.
static inline size_t decode_transposed(size_t qk_dim)
{
    (void)qk_dim;
    return 0;
}

/// Runs the tile on `rows` rows, in tiles as equal as possible; a, c and sums are those of the first row. With sums
/// there are at most DECODE_FLAT rows, so one tile.
static inline void decode_half_rows(const struct fovea_decode_chunk *decode, const struct decode_tile *tile,
                                    const decode_element *pages, float *sums, size_t rows)
{
    const size_t tiles = (rows + DECODE_FLAT_FAR - 1) / DECODE_FLAT_FAR, most = (rows + tiles - 1) / tiles;
    struct decode_tile one = *tile;
    for (size_t r = 0, n; r < rows; r += n) {
        n = attention_min(most, rows - r);
        one.n = tile->n;
        one.a = tile->a + (FOVEA_FAULT_IS(DECODE_HALF_FIRST_ROWS) ? 0 : (ptrdiff_t)r * tile->a_row);
        one.b = tile->b;
        one.c = tile->c + (ptrdiff_t)r * tile->c_row;
        one.ahead = r == 0 ? tile->ahead : NULL; // once is enough
        decode_few(&one, pages, sums, n, (enum fovea_into)decode->hints.into);
    }
}

/// S = Q K^T for the panels of which some row sees a key. V is prefetched meanwhile, and pages of the next K.
static void decode_scores(const struct fovea_decode_chunk *decode, const uint64_t *seen, float *s, float *transposed,
                          float *dense)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t dims = chunk->qk_dim, v_dim = chunk->state.v_dim;
    const int plain = decode_plain(chunk), follows = chunk->v_row == (ptrdiff_t)v_dim && v_dim >= dims;
    const int v_later = decode_asks(decode) && !decode->scores, some = v_later && decode_fetches_seen(chunk, seen);
    uint64_t load[FOVEA_CHUNK] = {seen[0]};
    (void)transposed, (void)dense;
    if (!plain) {
        decode_loads(chunk, seen, load);
    }
    struct decode_tile tile = {
        .k = dims,
        .a = chunk->q,
        .a_row = decode->q_row,
        .a_k = 1,
        .b_panel = (ptrdiff_t)(FOVEA_PANEL * dims),
        .b_k = FOVEA_PANEL,
        .c_row = FOVEA_CHUNK,
        .mode = FOVEA_GEMM_STORE,
    };
    for (size_t j = 0, end; j < chunk->keys; j = end) {
        const int wanted = load[plain ? 0 : j] != 0;
        end = plain ? chunk->keys : attention_run(load, chunk->keys, j, 0);
        if (!wanted && !FOVEA_FAULT_IS(DECODE_LOADS_HIDDEN_K)) {
            continue;
        }
        end = decode_joined(decode, j, end);
        if (decode_whole(decode)) {
            decode_fetch(decode, decode_k(decode, j), (ptrdiff_t)dims, end - j, dims);
        }
        const decode_element *const pages = decode_asks(decode) ? decode_k_ahead(decode, j) : NULL;
        decode_fetch_seen(decode, seen, j, some ? end : j);
        tile.n = end - j;
        tile.b = decode_k(decode, j);
        tile.c = s + j;
        tile.ahead = v_later && follows && !some ? decode_v(decode, j) : NULL;
        decode_half_rows(decode, &tile, pages ? pages : tile.ahead, NULL, chunk->state.rows);
    }
}

/// Prefetches V of keys [j, end) once more where that pays, and copies the partial last panel of V to tail: the rest of
/// a vector must not be read.
static inline void decode_before_values(const struct fovea_decode_chunk *decode, size_t j, size_t end,
                                        decode_element *tail)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t v_dim = chunk->state.v_dim, partial = v_dim % FOVEA_PANEL;
    const decode_element *const v = decode_v(decode, j);
    if (chunk->state.rows > DECODE_FEW ? decode_again(decode) : decode_whole(decode)) {
        decode_fetch(decode, v, chunk->v_row, end - j, v_dim);
    }
    for (size_t i = 0; i < end - j && partial != 0 && !FOVEA_FAULT_IS(DECODE_HALF_NO_TAIL); i++) {
        memcpy(tail + (j + i) * FOVEA_PANEL, v + (ptrdiff_t)i * chunk->v_row + v_dim - partial, partial * sizeof *tail);
    }
}

/// acc[rows] = or += P[rows] V over keys [j, end), all of which these rows see, from `row` on. If sums is not NULL,
/// sums[rows] += the sums of P. tail holds the last partial panel of V. The next K is prefetched, and pages of its V.
static inline void decode_values(const struct fovea_decode_chunk *decode, size_t j, size_t end, size_t row, size_t rows,
                                 enum fovea_gemm_mode mode, const float *p, const decode_element *tail, float *acc,
                                 float *sums)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t v_dim = chunk->state.v_dim, whole = v_dim - v_dim % FOVEA_PANEL, acc_row = attention_round(v_dim);
    const size_t dims = attention_round(chunk->qk_dim), keys = end - j;
    const decode_element *const k_ahead = decode_asks(decode) ? decode_k_ahead(decode, j) : NULL;
    const decode_element *const v_ahead = decode_v_ahead(decode, j);
    struct decode_tile tile = {
        .k = keys,
        .a = p + row * FOVEA_CHUNK + j,
        .a_row = FOVEA_CHUNK,
        .a_k = 1,
        .b_panel = FOVEA_PANEL,
        .c_row = (ptrdiff_t)acc_row,
        .mode = mode,
    };
    for (size_t column = 0; column < v_dim; column += tile.n) {
        const int ahead = k_ahead && column < chunk->qk_dim;
        const size_t left = column < whole ? whole - column : v_dim - whole;
        tile.n = ahead ? attention_min(left, dims - column) : left; // the next K ends there
        tile.b = column < whole ? decode_v(decode, j) + column : tail + j * FOVEA_PANEL;
        tile.b_k = column < whole ? chunk->v_row : FOVEA_PANEL;
        tile.c = acc + row * acc_row + column;
        tile.ahead = ahead ? k_ahead + column * keys : NULL;
        decode_half_rows(decode, &tile, v_ahead ? v_ahead + column * keys : tile.ahead, column == 0 ? sums : NULL,
                         rows);
    }
}

/// Scattered keys are widened by the caller, who has compacted them.
static inline int decode_compacted(const struct fovea_decode_chunk *decode, const uint64_t *seen, float *p,
                                   const decode_element *tail, float *acc, float *sums, float *dense)
{
    (void)decode, (void)seen, (void)p, (void)tail, (void)acc, (void)sums, (void)dense;
    return 0;
}

#endif
