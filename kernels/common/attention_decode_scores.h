// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_scores.h - S of a chunk: the product, or additive scores.
//
// Part of attention_decode_f32.inc, after FV_GEMM is defined.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_SCORES_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_SCORES_H

#include "kernels/common/attention.h"
#include "kernels/common/attention_additive.h"
#include "kernels/common/attention_decode_beside.h"
#include "kernels/common/attention_decode_fetch.h"
#include "kernels/common/attention_decode_few.h"
#include "kernels/common/attention_decode_gather.h"
#include "kernels/common/attention_decode_rows.h"
#include "kernels/common/attention_decode_seen.h"
#include "kernels/fault.h"

enum { DECODE_DEPTH = 32 }; ///< dims of all keys of a chunk that are transposed at a time: 16 KiB, half of L1

/// Elements of transposed keys in scratch: NR keys, or for few rows DECODE_DEPTH elements of each key of a chunk.
static inline size_t decode_transposed(size_t qk_dim)
{
    const size_t few = (size_t)FOVEA_CHUNK * DECODE_DEPTH, many = FV_GEMM_NR * qk_dim;
    return few > many ? few : many;
}

/// Columns that decode_gemm takes at a time.
static inline size_t decode_columns(int flat)
{
    return flat ? SIZE_MAX : FV_GEMM_NR;
}

/// Runs the tile on `rows` rows, in tiles of FV_GEMM as equal as possible; a and c are those of the first row. As in
/// prefill the tile is modified rather than copied: loads from a fresh copy would wait for its stores.
static inline void decode_gemm(struct fovea_gemm_tile *tile, const float *a, float *c, size_t rows)
{
    const float *const ahead = tile->ahead;
    const size_t tiles = (rows + FV_GEMM_MR - 1) / FV_GEMM_MR;
    const size_t most = (rows + tiles - 1) / tiles;
    for (size_t r = 0; r < rows; r += tile->m) {
        tile->m = attention_min(most, rows - r);
        tile->a = a + (ptrdiff_t)r * tile->a_row;
        tile->c = c + (ptrdiff_t)r * tile->c_row;
        FV_GEMM(tile);
        tile->ahead = NULL; // once is enough
    }
    tile->ahead = ahead;
}

/// Keys [i, i + n) of natural rows, transposed just before use. Few rows process them a few columns at a time, and may
/// prefetch the next columns once more.
static void decode_transpose(const struct fovea_decode_chunk *decode, struct fovea_gemm_tile *tile, size_t i, float *s,
                             float *transposed)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const int flat = decode_flat(decode, chunk->state.rows);
    const size_t rows = chunk->state.rows, depth = flat ? DECODE_DEPTH : chunk->qk_dim, n = tile->n;
    const float *const k = decode_k(decode, i);
    for (size_t c = 0; c < chunk->qk_dim; c += depth) {
        tile->k = attention_min(depth, chunk->qk_dim - c);
        tile->b_panel = (ptrdiff_t)(FOVEA_PANEL * tile->k);
        tile->b = transposed;
        if (decode_again(decode) && c + depth < chunk->qk_dim) {
            decode_fetch(decode, k + c + depth, chunk->k_row, n, attention_min(depth, chunk->qk_dim - c - depth));
        }
        FV_NAME(pack_bt_f32)(tile->k, n, k + c, chunk->k_row, transposed, tile->b_panel);
        if (flat) {
            tile->mode = c == 0 ? FOVEA_GEMM_STORE : FOVEA_GEMM_ADD;
            tile->n = n; // decode_few has consumed it
            tile->a = chunk->q + c;
            tile->c = s + i;
            decode_few(tile, tile->ahead, NULL, rows, (enum fovea_into)decode->hints.into);
        } else {
            decode_gemm(tile, chunk->q + c, s + i, rows);
        }
    }
}

/// S = Q K^T for the keys that some row sees; in a panelled K for whole groups of 16 of which one key is seen.
static void decode_products(const struct fovea_decode_chunk *decode, const uint64_t *seen, float *s, float *transposed)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t rows = chunk->state.rows;
    const int flat = decode_flat(decode, rows);
    uint64_t load[FOVEA_CHUNK];
    load[0] = seen[0];
    if (!decode_plain(chunk)) {
        decode_loads(chunk, seen, load);
    }
    struct fovea_gemm_tile tile = {
        .k = chunk->qk_dim,
        .a_row = decode->q_row,
        .a_k = 1,
        .b_panel = (ptrdiff_t)(FOVEA_PANEL * chunk->qk_dim),
        .b_k = FOVEA_PANEL,
        .c_row = FOVEA_CHUNK,
        .mode = FOVEA_GEMM_STORE,
        .ahead_step = flat ? 0 : FOVEA_PANEL,
        .ahead_panel = (ptrdiff_t)(FOVEA_PANEL * chunk->state.v_dim),
    };
    const int dense = chunk->v_row == (ptrdiff_t)chunk->state.v_dim && chunk->state.v_dim >= chunk->qk_dim;
    const int v_later = decode_asks(decode) && !decode->scores, some = v_later && decode_fetches_seen(chunk, seen);
    const int asks = v_later && dense && !some;
    for (size_t j = 0, end; j < chunk->keys; j = end) {
        const size_t most = decode_plain(chunk) ? chunk->keys : attention_run(load, chunk->keys, j, 0);
        const int wanted = load[decode_plain(chunk) ? 0 : j] != 0;
        end = wanted ? decode_joined(decode, j, most) : most;
        if (decode_whole(decode) && wanted) {
            decode_fetch(decode, decode_k(decode, j), decode_k_row(chunk), end - j, chunk->qk_dim);
        }
        if (chunk->k_row != 0 && wanted) {
            j += decode_few_rows(decode, j, end, asks ? decode_v(decode, j) : NULL, s);
        }
        if (chunk->k_row != 0 && wanted && j < end) {
            const float *const pages = decode_asks(decode) ? decode_k_ahead(decode, j) : NULL;
            const size_t first = j;
            j += decode_register_rows(decode, j, end, most, asks ? decode_v(decode, j) : NULL, pages, s);
            decode_fetch_seen(decode, seen, first, some ? j : first);
        }
        const int leads = asks && decode_leads(decode, end - j);
        for (size_t i = j, n; i < end && (wanted || FOVEA_FAULT_IS(DECODE_LOADS_HIDDEN_K)); i += n) {
            tile.n = n = attention_min(leads ? FOVEA_PANEL : decode_columns(flat), end - i);
            tile.ahead = asks ? decode_v(decode, i) : NULL;
            const float *const pages =
                decode_asks(decode) ? decode_k_ahead(decode, i) : NULL; // the product with V prefetches these
            const float *const next = pages && !leads ? pages : tile.ahead;
            if (leads) {
                tile.ahead = i + n < end ? decode_k(decode, i + n) : decode_v(decode, j);
            }
            decode_fetch_seen(decode, seen, i, some ? i + n : i);
            if (chunk->k_row != 0) {
                decode_transpose(decode, &tile, i, s, transposed);
            } else if (flat) {
                tile.a = chunk->q;
                tile.b = decode_k(decode, i);
                tile.c = s + i;
                decode_few(&tile, next, NULL, rows, (enum fovea_into)decode->hints.into);
            } else {
                decode_touch(next, 0, n * chunk->qk_dim);
                tile.b = decode_k(decode, i);
                decode_gemm(&tile, chunk->q, s + i, rows);
            }
        }
    }
}

/// Additive scores, 16 keys at a time.
static void decode_additive(const struct fovea_decode_chunk *decode, const uint64_t *seen, float *s, float *transposed)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    uint64_t load[FOVEA_CHUNK];
    decode_loads(chunk, seen, load);
    for (size_t j = 0, end; j < chunk->keys; j = end) {
        end = attention_run(load, chunk->keys, j, 0);
        for (size_t i = j, n; i < end && load[j] != 0; i += n) {
            const float *panel = chunk->k + i * chunk->qk_dim;
            n = attention_min(FOVEA_PANEL, end - i);
            if (chunk->k_row != 0) {
                FV_NAME(pack_bt_f32)
                (chunk->qk_dim, n, chunk->k + (ptrdiff_t)i * chunk->k_row, chunk->k_row, transposed, 0);
                panel = transposed;
            }
            for (size_t r = 0; r < chunk->state.rows; r++) {
                attention_additive(chunk->qk_dim, panel, FOVEA_PANEL, chunk->q + (ptrdiff_t)r * decode->q_row, 1,
                                   chunk->additive[r], s + r * FOVEA_CHUNK + i, n);
            }
        }
    }
}

/// The scores. Rows of K that are seen in short runs are first copied to dense, [128][v_dim]. Otherwise each run would
/// be a tile of its own.
static void decode_scores(const struct fovea_decode_chunk *decode, const uint64_t *seen, float *s, float *transposed,
                          float *dense)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    struct decode_seen list = {.count = 0};
    const size_t dims = chunk->qk_dim;
    if (chunk->additive) {
        decode_additive(decode, seen, s, transposed);
        return;
    }
    if (chunk->k_row != 0 && !decode_plain(chunk) && dims % FOVEA_PANEL == 0 && dims <= chunk->state.v_dim) {
        decode_list(seen, chunk->keys, &list);
    }
    if (!decode_scattered(&list, DECODE_RUN_K)) {
        decode_products(decode, seen, s, transposed);
        return;
    }
    struct fovea_decode_chunk of_seen = *decode;
    of_seen.chunk.keys = list.count;
    of_seen.chunk.k = dense;
    of_seen.blocks = NULL;
    of_seen.chunk.k_row = (ptrdiff_t)dims;
    of_seen.chunk.visible = NULL;
    of_seen.chunk.bias = NULL;
    of_seen.chunk.state.spread = NULL;
    of_seen.hints.far = 0;
    of_seen.k_next = NULL; // of another stride
    decode_gather(decode, &list, decode_k, dims, decode_asks(decode), dense);
    // Otherwise V is gathered, too.
    if (decode_asks(decode) && !decode->scores && !decode_scattered(&list, DECODE_RUN_V)) {
        decode_fetch_seen(decode, seen, 0, chunk->keys);
    }
    decode_products(&of_seen, &(uint64_t){1}, s, transposed);
    // From the last, so that none is overwritten before it is moved.
    for (size_t r = 0; r < chunk->state.rows; r++) {
        for (size_t left = list.count; left != 0; left--) {
            const size_t i = FOVEA_FAULT_IS(DECODE_SPREADS_FORWARD) ? list.count - left : left - 1;
            s[r * FOVEA_CHUNK + list.key[i]] = s[r * FOVEA_CHUNK + i];
        }
    }
}

#endif
