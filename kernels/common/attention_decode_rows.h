// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_rows.h - natural rows of K against a few queries, transposed in registers, on ISAs
// that have FV_REGISTER_ROWS.
//
// With one row each step depends on the one before it, so two groups of 16 keys are processed side by side: 1.07 to
// 1.11 times as fast on Granite Rapids, and 1.025 more if they alternate every eight steps; but together with
// prefetches only 0.96 to 1.0, so then they are processed one by one, and always on cores that halve 512 bits, which
// have half as many FMAs in flight. Two rows and more already hide each other's latency.
//
// Fewer than 16 keys are processed as 16: the last one is read in place of the missing ones. Transposed to scratch in
// blocks on the stack they took as long as 40 keys (12 heads of 64, 4 queries and keys 1.24 times as fast).
//
// What is thought to be in L2 may not be there, so cores that halve 512 bits prefetch the next 16 keys into L1, spread
// over these, which costs nothing beside the shuffles (Zen 4, 512 keys of 64, four rows from memory 1.46 times as fast;
// in a burst, as for far keys, those in L2 would take 1.2 to 1.35 times as long), and 16 keys before that into L2.
// There, up to six rows, a tile processes all whole groups of 16 keys: Zen 4, 256 keys of 64 in L2, one row 1.01 to
// 1.03, 512 keys four and six rows 1.2 and 1.1 times as fast.
//
// With FOVEA_INTO_L2_PARTS seven and eight rows are split in two halves, and keys are transposed for each half anew.
// Prefetches are then spread as evenly as the reads of K; transposing in scratch issues them in bursts (Granite Rapids,
// 1.05 to 1.07).
//
// Part of attention_decode_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_ROWS_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_ROWS_H

#ifdef FV_REGISTER_ROWS
#include "kernels/common/attention_decode_rows_tile.h"

/// The most rows that are processed in registers.
static inline size_t decode_register_most(const struct fovea_decode_chunk *decode)
{
    enum { HALVES = 8 };
    return decode_asks(decode) && decode_parts(decode) > 1 ? HALVES : FV_REGISTER_ROWS;
}

/// On cores that halve 512 bits: processes the whole groups of 16 among the keys [j, end), if there are at most six
/// rows, no blocks, and nothing is prefetched but in case. Keys in [end, most) will be read later, too; pages: NULL, or
/// the next K, whose pages are to be prefetched. Returns how many keys were processed.
#if DECODE_HALVES
static inline size_t decode_whole_run(const struct fovea_decode_chunk *decode, size_t j, size_t end, size_t most,
                                      const float *pages, float *s)
{
#define DECODE_RUN_NAME(R) decode_run_##R,
    static decode_run_fn *const runs[FV_REGISTER_ROWS] = {FV_EACH_ROW(FV_REGISTER_ROWS, DECODE_RUN_NAME)};
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t rows = chunk->state.rows, keys = (end - j) / FOVEA_PANEL * FOVEA_PANEL, behind = j + keys;
    // V has no prefetch of its own in case (0.97 to 1.0 with it).
    if (keys == 0 || rows > FV_REGISTER_ROWS || decode->blocks || (decode_asks(decode) && !decode->hints.in_case)) {
        return 0;
    }
    const float *const last = most == chunk->keys ? decode->k_next : NULL;
    const struct decode_run_keys of = {
        .k = decode_k(decode, j),
        .keys = keys,
        .next = behind < most ? decode_k(decode, behind) : last,
        .pages = pages,
        .s = s + j,
    };
    runs[rows - 1](decode, &of);
    return keys;
}
#else
static inline size_t decode_whole_run(const struct fovea_decode_chunk *decode, size_t j, size_t end, size_t most,
                                      const float *pages, float *s)
{
    (void)decode, (void)j, (void)end, (void)most, (void)pages, (void)s;
    return 0;
}
#endif

/// Scores of the keys [j, end). v: NULL, or V to prefetch, as much as these keys have. pages: NULL, or the next K,
/// whose pages are to be prefetched. Keys in [end, most) will be read later, too. Returns how many keys were processed:
/// all or none.
static size_t decode_register_rows(const struct fovea_decode_chunk *decode, size_t j, size_t end, size_t most,
                                   const float *v, const float *pages, float *s)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
#define DECODE_REGISTER_NAME(R) decode_register_##R,
#define DECODE_PARTIAL_NAME(R) decode_partial_##R,
    static decode_register_fn *const tiles[2][FV_REGISTER_ROWS] = {
        {FV_EACH_ROW(FV_REGISTER_ROWS, DECODE_REGISTER_NAME)},
        {FV_EACH_ROW(FV_REGISTER_ROWS, DECODE_PARTIAL_NAME)},
    };
    const size_t rows = chunk->state.rows, half = rows <= FV_REGISTER_ROWS ? rows : (rows + 1) / 2, first = j;
    const size_t of_key = chunk->qk_dim / decode_parts(decode); // elements of each part prefetched per key
    if (rows > decode_register_most(decode) || chunk->qk_dim % FOVEA_PANEL != 0) {
        return 0;
    }
    j += decode_whole_run(decode, j, end, most, pages, s);
    pages = pages ? pages + (j - first) * chunk->qk_dim : NULL;
    struct decode_register_keys of = {.part = (ptrdiff_t)((end - j) / FOVEA_PANEL * FOVEA_PANEL * of_key)};
    for (; j < end; j += of.keys) {
        const int pair = !DECODE_HALVES && rows == 1 && !decode_asks(decode) && j + 2 * FOVEA_PANEL <= end;
        of.keys = attention_min(pair ? 2 * FOVEA_PANEL : FOVEA_PANEL, end - j);
        of.k = decode_k(decode, j);
        of.s = s + j;
        const int partial = of.keys < FOVEA_PANEL;
        if (decode_again(decode) && j + 2 * FOVEA_PANEL <= most) { // this implies decode_asks, so there is no pair
            decode_fetch(decode, decode_k(decode, j + FOVEA_PANEL), chunk->k_row, FOVEA_PANEL, chunk->qk_dim);
        }
        if (v && partial) {
            decode_fetch(decode, decode_v(decode, j), chunk->v_row, of.keys, chunk->qk_dim);
        }
        decode_touch(pages, 0, of.keys * chunk->qk_dim);
        for (of.row = 0; of.row < rows; of.row += half) {
            of.ahead = of.row == 0 ? v : NULL;
            (pair ? decode_register_pair : tiles[partial][attention_min(half, rows - of.row) - 1])(decode, &of);
        }
        v = v ? v + of.keys * of_key : NULL;
        pages = pages ? pages + of.keys * chunk->qk_dim : NULL;
    }
    return j - first;
}
#else
static inline size_t decode_register_rows(const struct fovea_decode_chunk *decode, size_t j, size_t end, size_t most,
                                          const float *v, const float *pages, float *s)
{
    (void)decode, (void)j, (void)end, (void)most, (void)v, (void)pages, (void)s;
    return 0;
}
#endif

#endif
