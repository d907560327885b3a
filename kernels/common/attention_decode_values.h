// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_values.h - what a chunk adds to O: runs of keys that the same rows see, times V.
//
// Part of attention_decode_f32.inc, after FV_GEMM is defined.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_VALUES_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_VALUES_H

#include "kernels/common/attention_decode_scores.h"

/// A tile of few rows whose prefetches run ahead: each key prefetches V 16 keys further on, and the last 16 keys the
/// next K, which begins at k_ahead, or NULL. tile->ahead: where pages are to be prefetched, or NULL. b, k, mode and
/// ahead of the tile are changed.
static void decode_led_values(struct fovea_gemm_tile *tile, const float *weights, float *acc, const float *k_ahead,
                              float *sums, size_t rows)
{
    const float *const v = tile->b, *const pages = tile->ahead ? tile->ahead : v;
    const ptrdiff_t v_row = tile->b_k;
    const size_t columns = tile->n, first = tile->k - FOVEA_PANEL;
    tile->k = first;
    tile->a = weights;
    tile->c = acc;
    tile->ahead = v + FOVEA_PANEL * v_row;
    tile->ahead_step = v_row;
    decode_few(tile, pages, sums, rows, FOVEA_INTO_L1);
    tile->n = columns;
    tile->k = FOVEA_PANEL;
    tile->a = weights + first;
    tile->b = v + (ptrdiff_t)first * v_row;
    tile->c = acc;
    tile->mode = FOVEA_GEMM_ADD;
    tile->ahead = k_ahead;
    tile->ahead_step = 0;
    decode_few(tile, pages + first * columns, sums, rows, FOVEA_INTO_L1);
}

/// acc[rows] = or += P[rows] V over keys [j, end), all of which these rows see. For few rows, if sums is not NULL,
/// sums[rows] += the sums of P. tail holds the last partial panel of V. Always inlined: a call costs 3 % of the time of
/// 4 queries and keys.
static inline __attribute__((always_inline)) void decode_values(const struct fovea_decode_chunk *decode, size_t j,
                                                                size_t end, size_t row, size_t rows,
                                                                enum fovea_gemm_mode mode, const float *p,
                                                                const float *tail, float *acc, float *sums)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t v_dim = chunk->state.v_dim, whole = v_dim - v_dim % FOVEA_PANEL, acc_row = attention_round(v_dim);
    const int flat = decode_flat(decode, rows), leads = flat && decode_leads(decode, end - j);
    struct fovea_gemm_tile tile = {
        .k = end - j,
        .a_row = FOVEA_CHUNK,
        .a_k = 1,
        .b_panel = FOVEA_PANEL,
        .b_k = chunk->v_row,
        .c_row = (ptrdiff_t)acc_row,
        .mode = mode,
        .ahead_step = flat ? 0 : FOVEA_PANEL,
        .ahead_panel = (ptrdiff_t)(FOVEA_PANEL * (end - j)),
    };
    const float *const weights = p + row * FOVEA_CHUNK + j, *const v = decode_v(decode, j);
    const float *const k_ahead = decode_asks(decode) ? decode_k_ahead(decode, j) : NULL;
    const float *const v_ahead = decode_v_ahead(decode, j);
    acc += row * acc_row;
    for (size_t column = 0, n; column < v_dim; column += n) {
        const int ahead = k_ahead && column < chunk->qk_dim;
        size_t left = column < whole ? whole - column : v_dim - whole;
        left = ahead ? attention_min(left, attention_round(chunk->qk_dim) - column) : left; // the next K ends there
        n = tile.n = attention_min(decode_columns(flat), left);
        tile.b = column < whole ? v + column : tail + j * FOVEA_PANEL;
        tile.b_k = column < whole ? chunk->v_row : FOVEA_PANEL;
        tile.ahead = ahead ? k_ahead + column * (end - j) : NULL;
        const float *const pages = v_ahead ? v_ahead + column * (end - j) : tile.ahead;
        if (leads) {
            tile.k = end - j;
            tile.mode = mode;
            decode_led_values(&tile, weights, acc + column, ahead ? k_ahead + column * FOVEA_PANEL : NULL,
                              column == 0 ? sums : NULL, rows);
        } else if (flat) {
            tile.a = weights;
            tile.c = acc + column;
            decode_few(&tile, pages, column == 0 ? sums : NULL, rows, (enum fovea_into)decode->hints.into);
        } else {
            decode_touch(pages, 0, ahead ? n * (end - j) : 0);
            decode_gemm(&tile, weights, acc + column, rows);
        }
    }
}

/// Whether V and P are compacted to the keys that are seen: all rows see the same ones, in short runs.
static inline int decode_compacts(const struct fovea_attention_chunk *chunk, const uint64_t *seen,
                                  struct decode_seen *list)
{
    const uint64_t all = attention_all(chunk->state.rows);
    for (size_t j = 0; j < chunk->keys; j++) {
        if (seen[j] != 0 && seen[j] != all) {
            return 0;
        }
    }
    decode_list(seen, chunk->keys, list);
    return chunk->state.v_dim % FOVEA_PANEL == 0 && decode_scattered(list, DECODE_RUN_V);
}

/// Prefetches V of keys [j, end) once more where that pays, and copies the partial last panel of V to tail.
static inline void decode_before_values(const struct fovea_decode_chunk *decode, size_t j, size_t end, float *tail)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t v_dim = chunk->state.v_dim, partial = v_dim % FOVEA_PANEL;
    if (chunk->state.rows > DECODE_FEW ? decode_again(decode) : decode_whole(decode)) {
        decode_fetch(decode, decode_v(decode, j), chunk->v_row, end - j, v_dim);
    }
    if (partial != 0) { // rows of V end here: what follows must not be read
        FV_NAME(pack_b_f32)
        (end - j, partial, decode_v(decode, j) + v_dim - partial, chunk->v_row, tail + j * FOVEA_PANEL, 0);
    }
}

/// acc += P V over the keys that are seen, if V is compacted to them, in dense, [128][v_dim]; P is then compacted, too.
static int decode_compacted(const struct fovea_decode_chunk *decode, const uint64_t *seen, float *p, const float *tail,
                            float *acc, float *sums, float *dense)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t v_dim = chunk->state.v_dim, rows = chunk->state.rows;
    struct decode_seen list;
    if (!decode_compacts(chunk, seen, &list)) {
        return 0;
    }
    struct fovea_decode_chunk of_seen = *decode;
    of_seen.chunk.v = dense;
    of_seen.blocks = NULL;
    of_seen.chunk.v_row = (ptrdiff_t)v_dim;
    of_seen.chunk.keys = list.count;
    decode_gather(decode, &list, decode_v, v_dim, decode_asks(decode), dense);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < list.count; i++) {
            p[r * FOVEA_CHUNK + i] = p[r * FOVEA_CHUNK + list.key[i]];
        }
    }
    decode_values(&of_seen, 0, of_seen.chunk.keys, 0, rows, FOVEA_GEMM_ADD, p, tail, acc, sums);
    return 1;
}

#endif
