// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_beside.h - one or two rows from memory: P V of a chunk interleaved with Q K^T of the
// next one.
//
// Some cores read memory at their full rate only while several streams are read at once, each in memory order, and lose
// when software prefetches are added to that: Zen 3 reaches 16 GB/s with one stream and 23 with three, but 14 and 19
// with a prefetch 2 KiB ahead. So a few keys of V alternate with as much of the next K, within the distance the core
// looks ahead. 12 heads of 64, 1024 keys: 84 to 94 % of the read stream; 77 one after the other; 68 with all of it
// prefetched. Other cores do better with prefetches, unless K is in rows (`beside` of dispatch/beyond.def). One line of
// each page of what comes after these is prefetched all the same (attention_decode_fetch.h; on Zen 5 1.04 to 1.2 times
// as fast, on Zen 3 not measured).
//
// Part of attention_decode_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_BESIDE_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_BESIDE_H

#include "kernels/common/attention_decode_fetch.h"

#if FV_DECODE_BESIDE
#include "kernels/common/attention_decode_beside_tile.h"

/// Whether the next chunk's scores are computed along with this chunk's product: all rows see all keys of both.
static inline int decode_may_beside(const struct fovea_decode_chunk *decode)
{
    const size_t rows = decode->chunk.state.rows, dims = decode->chunk.qk_dim;
    return decode->hints.far && decode->hints.beside && decode->k_next && !decode->blocks && rows <= DECODE_FEW &&
           !decode->chunk.visible && !decode->chunk.bias && decode->chunk.state.v_dim % BESIDE_COLUMNS == 0 &&
           (decode->chunk.k_row == 0 || dims % 4 == 0);
}

/// Columns of V that the next tile takes, out of `left`: 32, 64 or 128.
static inline size_t beside_columns(size_t left, size_t most)
{
    const size_t columns = left >= 128 ? 128 : left >= 64 ? 64 : 32;
    return attention_min(columns, most);
}

/// acc = P V of a chunk, sums (if not NULL) += the rows of P, s_next = Q K^T of the next chunk.
static void decode_beside(const struct fovea_decode_chunk *decode, const float *p, float *acc, float *sums,
                          float *s_next)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    static beside_fn *const tiles[2][DECODE_FEW][3] = {
        // K in panels, in rows; rows; 32, 64, 128 columns
        {{beside_1x4_0, beside_1x8_0, beside_1x16_0}, {beside_2x4_0, beside_2x8_0, NULL}},
        {{beside_1x4_1, beside_1x8_1, beside_1x16_1}, {beside_2x4_1, beside_2x8_1, NULL}},
    };
    const size_t rows = chunk->state.rows, v_dim = chunk->state.v_dim, dims = chunk->qk_dim;
    const int natural = chunk->k_row != 0, dense = chunk->k_row == (ptrdiff_t)dims;
    const size_t of_k = natural ? FV_LANES : FOVEA_PANEL, most = BESIDE_VECS * FV_LANES / rows;
    struct beside_tile tile = {
        .keys = natural && v_dim > 64 ? 4 : 8, // 16: 6 to 9 % slower; rows of 128: 4 is 4 % faster than 8
        .v_row = chunk->v_row,
        .acc_row = (ptrdiff_t)v_dim,
        .q_row = decode->q_row,
        .k_row = chunk->k_row,
    };
    size_t slices = 0; // number of slices that each group of of_k keys of K is cut into
    for (size_t column = 0; column < v_dim; slices += of_k / tile.keys) {
        column += beside_columns(v_dim - column, most);
    }
    for (size_t i = 0; i < rows * v_dim; i += FV_LANES) {
        fv_store(acc + i, fv_zero());
    }
    for (size_t i = 0; i < rows * FOVEA_CHUNK; i += FV_LANES) {
        fv_store(s_next + i, fv_zero());
    }
    const float *const v_next = chunk->v_row == (ptrdiff_t)v_dim ? chunk->v + FOVEA_CHUNK * v_dim : NULL;
    const float *const k_after = !natural || dense ? decode->k_next + FOVEA_CHUNK * dims : NULL;
    for (size_t j = 0, i = 0, slice = 0; j < FOVEA_CHUNK; j += tile.keys) {
        decode_touch(v_next, j * v_dim, (j + tile.keys) * v_dim);
        decode_touch(k_after, j * dims, (j + tile.keys) * dims);
        for (size_t column = 0, n; column < v_dim; column += n) {
            const size_t c = dims * slice / slices / 4 * 4;
            n = beside_columns(v_dim - column, most);
            slice++;
            tile.p = p + j;
            tile.v = chunk->v + (ptrdiff_t)j * chunk->v_row + column;
            tile.acc = acc + column;
            tile.sums = column == 0 ? sums : NULL;
            tile.dims =
                (slice == slices && !FOVEA_FAULT_IS(DECODE_BESIDE_SHORT) ? dims : dims * slice / slices / 4 * 4) - c;
            tile.q = chunk->q + c;
            tile.k = natural ? decode->k_next + (ptrdiff_t)i * chunk->k_row + c
                             : decode->k_next + i * dims + c * FOVEA_PANEL;
            tile.s = s_next + i;
            tile.ahead = natural && dense && i + of_k < FOVEA_CHUNK ? tile.k + of_k * dims + c * (of_k - 1) : NULL;
            tiles[natural][rows - 1][n / 64](&tile);
            if (slice == slices) {
                slice = 0;
                i += of_k;
            }
        }
    }
}

/// Scores over natural rows of K, of whole groups of 16 keys in [j, end), with no V interleaved. v: NULL, or the V to
/// prefetch with each key, where it is not the next K that is prefetched. Returns how many keys were processed.
static size_t decode_few_rows(const struct fovea_decode_chunk *decode, size_t j, size_t end, const float *v, float *s)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t rows = chunk->state.rows, dims = chunk->qk_dim, first = j;
    struct beside_tile tile = {.q = chunk->q, .q_row = decode->q_row, .k_row = chunk->k_row};
    for (; rows <= DECODE_FEW && dims % 4 == 0 && j + FOVEA_PANEL <= end; j += FOVEA_PANEL) {
        const int more = !decode->blocks && chunk->k_row == (ptrdiff_t)dims && j + 2 * FOVEA_PANEL <= end;
        fv_f32 sums[DECODE_FEW * FV_VECS];
        for (int i = 0; i < DECODE_FEW * FV_VECS; i++) {
            sums[i] = fv_zero();
        }
        tile.k = decode_k(decode, j);
        tile.ahead = more ? tile.k + FOVEA_PANEL * dims : v;
        v = v ? v + FOVEA_PANEL * chunk->v_row : NULL;
        if (rows == 1) {
            beside_rows(&tile, 0, dims, 1, FV_VECS, sums);
        } else {
            beside_rows(&tile, 0, dims, 2, FV_VECS, sums);
        }
        for (size_t i = 0; i < rows * FV_VECS; i++) {
            fv_store(s + i / FV_VECS * FOVEA_CHUNK + j + i % FV_VECS * FV_LANES, sums[i]);
        }
    }
    return j - first;
}

#else
#ifdef FV_REGISTER_ROWS
#include "kernels/common/attention_decode_near.h"
#else
static inline int decode_may_beside(const struct fovea_decode_chunk *decode)
{
    (void)decode;
    return 0;
}

static inline void decode_beside(const struct fovea_decode_chunk *decode, const float *p, float *acc, float *sums,
                                 float *s_next)
{
    (void)decode, (void)p, (void)acc, (void)sums, (void)s_next;
}

#endif

static inline size_t decode_few_rows(const struct fovea_decode_chunk *decode, size_t j, size_t end, const float *v,
                                     float *s)
{
    (void)decode, (void)j, (void)end, (void)v, (void)s;
    return 0;
}
#endif

#endif
