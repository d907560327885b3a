// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_decode_rows.h - natural rows of K against a few queries, transposed in registers, on ISAs
// that have FV_REGISTER_ROWS.
//
// Up to six rows over keys that may be in L2 process all whole groups of keys of a chunk in one call. Each step depends
// on the one before it, so two groups of 16 keys are processed side by side, and share each element of Q: Zen 5, 512
// keys of 64 and 128 in L2, two to six rows 1.09 to 1.2 times as fast as group by group, each a call (one row over the
// first chunk, Granite Rapids, 1.07 to 1.11; more rows not measured on Intel). Cores that halve 512 bits have half as
// many FMAs in flight and take group by group: Zen 4, 256 keys of 64, one row 1.01 to 1.03, 512 keys four and six
// rows 1.2 and 1.1 times as fast as a call for each. If all is prefetched ahead, groups are processed one by one as
// well (with pairs 0.79 to 1.14, Zen 5).
//
// Fewer than 16 keys are processed as 16: the last one is read in place of the missing ones. Transposed to scratch in
// blocks on the stack they took as long as 40 keys (12 heads of 64, 4 queries and keys 1.24 times as fast).
//
// What is thought to be in L2 may not be there, so a run prefetches its next keys into L1, spread over these, which
// costs little beside the shuffles. Zen 5, two to four rows over 512 keys from memory 1.3 to 1.5 times as fast (pairs
// alone 0.88 to 0.94, as they read 32 rows of K in turns), six rows 1.1; in L2 0.95 to 1.0; one row 0.9 there, so it
// prefetches nothing. Zen 4, four rows from memory 1.46; in a burst, as for far keys, those in L2 would take 1.2
// to 1.35 times as long; it prefetches 16 keys before that into L2, too (Zen 5 0.87 to 0.99 in L2, 0.96 to 1.05 from
// memory).
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

/// Processes the whole groups of 16 among the keys [j, end), or of 32 on cores that compute 512 bits at once, if there
/// are at most six rows, and nothing is prefetched but in case, and then in no blocks. Keys in [end, most) will be read
/// later, too; pages: NULL, or the next K, whose pages are to be prefetched. Returns how many keys were processed.
static inline size_t decode_whole_run(const struct fovea_decode_chunk *decode, size_t j, size_t end, size_t most,
                                      const float *pages, float *s)
{
#define DECODE_RUN_NAME(R) decode_run_##R,
    static decode_run_fn *const runs[FV_REGISTER_ROWS] = {FV_EACH_ROW(FV_REGISTER_ROWS, DECODE_RUN_NAME)};
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const size_t rows = chunk->state.rows, keys = (end - j) / DECODE_RUN_KEYS * DECODE_RUN_KEYS, behind = j + keys;
    const int in_case = decode->hints.in_case && !decode->blocks;
    // V has no prefetch of its own (Zen 4 0.97 to 1.0 with it, Zen 5 0.8 to 0.9 in L2).
    if (keys == 0 || rows > FV_REGISTER_ROWS || (decode_asks(decode) && !in_case)) {
        return 0;
    }
    const size_t left = (decode->blocks ? end : most) - behind; // blocks after these lie elsewhere
    const float *const last = most == chunk->keys ? decode->k_next : NULL;
    const struct decode_run_keys of = {
        .k = decode_k(decode, j),
        .keys = keys,
        .next = left != 0 ? decode_k(decode, behind) : last,
        .more = left != 0 ? left : FOVEA_CHUNK,
        .pages = pages,
        .s = s + j,
    };
    runs[rows - 1](decode, &of);
    return keys;
}

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
    v = v ? v + (j - first) * of_key : NULL;
    pages = pages ? pages + (j - first) * chunk->qk_dim : NULL;
    struct decode_register_keys of = {.part = (ptrdiff_t)((end - j) / FOVEA_PANEL * FOVEA_PANEL * of_key)};
    for (; j < end; j += of.keys) {
        of.keys = attention_min(FOVEA_PANEL, end - j);
        of.k = decode_k(decode, j);
        of.s = s + j;
        const int partial = of.keys < FOVEA_PANEL;
        if (decode_again(decode) && j + 2 * FOVEA_PANEL <= most) {
            decode_fetch(decode, decode_k(decode, j + FOVEA_PANEL), chunk->k_row, FOVEA_PANEL, chunk->qk_dim);
        }
        if (v && partial) {
            decode_fetch(decode, decode_v(decode, j), chunk->v_row, of.keys, chunk->qk_dim);
        }
        decode_touch(pages, 0, of.keys * chunk->qk_dim);
        for (of.row = 0; of.row < rows; of.row += half) {
            of.ahead = of.row == 0 ? v : NULL;
            tiles[partial][attention_min(half, rows - of.row) - 1](decode, &of);
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
