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
// There a tile processes all groups of 16 keys of a run, whose sums then overlap (256 keys of 64 in L2 1.01 to 1.03).
//
// With FOVEA_INTO_L2_PARTS seven and eight rows are split in two halves, and keys are transposed for each half anew.
// Prefetches are then spread as evenly as the reads of K; transposing in scratch issues them in bursts (Granite Rapids,
// 1.05 to 1.07).
//
// Part of attention_decode_f32.inc.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_DECODE_ROWS_H
#define FOVEA_KERNELS_COMMON_ATTENTION_DECODE_ROWS_H

#include "kernels/common/attention_decode_fetch.h"
#include "kernels/common/each_row.h"

#ifdef FV_REGISTER_ROWS
/// Number of parts of V that are prefetched side by side.
static inline size_t decode_parts(const struct fovea_decode_chunk *decode)
{
    return decode->hints.into == FOVEA_INTO_L2_PARTS ? 8 : 1;
}

/// The most rows that are processed in registers.
static inline size_t decode_register_most(const struct fovea_decode_chunk *decode)
{
    enum { HALVES = 8 };
    return decode_asks(decode) && decode_parts(decode) > 1 ? HALVES : FV_REGISTER_ROWS;
}

/// Keys from k on against the queries from `row` on; the scores go to s[row * FOVEA_CHUNK].
struct decode_register_keys {
    const float *k;
    size_t keys, row;
    const float *next;  ///< NULL, or K of the next 16 keys, to prefetch: on cores that halve 512 bits
    const float *ahead; ///< NULL, or V to prefetch: as much as these keys have, divided over decode_parts streams
    ptrdiff_t part;     ///< distance between these streams
    float *s;
};

/// R rows by T x 16 keys at a time. PARTIAL: T is 1 and there are fewer than 16 keys; otherwise their number is a
/// multiple of those at a time. Only T = 1 with whole 16 keys prefetches.
static inline __attribute__((always_inline)) void decode_register_tile(const struct fovea_decode_chunk *decode,
                                                                       const struct decode_register_keys *of, int R,
                                                                       int T, int PARTIAL)
{
    const struct fovea_attention_chunk *const chunk = &decode->chunk;
    const float *const q = chunk->q + (FOVEA_FAULT_IS(DECODE_HALF_IS_FIRST) ? 0 : (ptrdiff_t)of->row * decode->q_row);
    const size_t parts = decode_parts(decode), asked = FOVEA_PANEL * FOVEA_LINE / parts;
    const int keys = PARTIAL ? (int)of->keys : FOVEA_PANEL;
    const int last = keys - 1 - (PARTIAL && keys > 1 && FOVEA_FAULT_IS(DECODE_PARTIAL_SHORT));
    const ptrdiff_t q_row = decode->q_row, k_row = chunk->k_row;
    const size_t dims = chunk->qk_dim;
    const float *ahead = T == 1 && !PARTIAL ? of->ahead : NULL, *k = of->k;
    float *s = of->s + of->row * FOVEA_CHUNK;
    enum { EVERY = 1, FURTHER = FOVEA_PANEL }; // of decode_fetch_next
    for (size_t left = PARTIAL ? 1 : of->keys / (size_t)(T * FOVEA_PANEL); left != 0; left--) {
        const float *const next = left > 1 ? k + FOVEA_PANEL * k_row : of->next;
        fv_f32 sums[FV_REGISTER_ROWS];
        FV_UNROLL
        for (int r = 0; r < R * T; r++) {
            sums[r] = fv_zero();
        }
        for (size_t c = 0; c < dims; c += FOVEA_LINE) {
            if (ahead) {
                decode_fetch(decode, ahead, of->part, parts, asked);
                ahead += asked;
            }
            if (DECODE_HALVES && T == 1 && !PARTIAL && __builtin_expect(next != NULL, 1)) { // aside, 0.96
                decode_fetch_next(next, k_row, dims, c, FOVEA_LINE, EVERY, FURTHER);
            }
            if (T == 1) {
                fv_register_rows(k + c, k_row, last, q + c, q_row, 1, sums, R);
                continue;
            }
            FV_UNROLL
            for (int half = 0; half < 2; half++) {
                FV_UNROLL
                for (int t = 0; t < T; t++) {
                    const ptrdiff_t key = FOVEA_FAULT_IS(DECODE_PAIR_IS_FIRST) ? 0 : t * FOVEA_PANEL;
                    const size_t from = c + (FOVEA_FAULT_IS(DECODE_PAIR_HALF_AGAIN) ? 0 : half * (FOVEA_LINE / 2));
                    fv_register_eight(k + key * k_row + from, k_row, q + from, q_row, 1, sums + t * R, R);
                }
            }
        }
        FV_UNROLL
        for (int r = 0; r < R * T; r++) {
            float *const to = s + r % R * FOVEA_CHUNK + r / R * FOVEA_PANEL;
            if (PARTIAL && !FOVEA_FAULT_IS(DECODE_STORES_PAST_KEYS)) {
                fv_store_tail(to, sums[r], of->keys);
            } else {
                fv_store(to, sums[r]);
            }
        }
        k += T * FOVEA_PANEL * k_row;
        s += T * FOVEA_PANEL;
    }
}

typedef void decode_register_fn(const struct fovea_decode_chunk *decode, const struct decode_register_keys *of);

#define DECODE_REGISTER_TILE(NAME, R, T, PARTIAL)                                                                      \
    static void NAME(const struct fovea_decode_chunk *decode, const struct decode_register_keys *of)                   \
    {                                                                                                                  \
        _Static_assert((R) * (T) <= FV_REGISTER_ROWS, "a sum for each");                                               \
        decode_register_tile(decode, of, R, T, PARTIAL);                                                               \
    }
#define DECODE_REGISTER_TILES(R)                                                                                       \
    DECODE_REGISTER_TILE(decode_register_##R, R, 1, 0)                                                                 \
    DECODE_REGISTER_TILE(decode_partial_##R, R, 1, 1)
FV_EACH_ROW(FV_REGISTER_ROWS, DECODE_REGISTER_TILES)
DECODE_REGISTER_TILE(decode_register_pair, 1, 2, 0)

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
    struct decode_register_keys of = {.part = (ptrdiff_t)((end - j) / FOVEA_PANEL * FOVEA_PANEL * of_key)};
    if (rows > decode_register_most(decode) || chunk->qk_dim % FOVEA_PANEL != 0) {
        return 0;
    }
    // Of many rows that prefetch in case, V has no prefetch of its own (0.97 to 1.0 with it).
    const int near = DECODE_HALVES && (!decode_asks(decode) || decode->hints.in_case) && !decode->blocks;
    for (; j < end; j += of.keys) {
        const int pair = !DECODE_HALVES && rows == 1 && !decode_asks(decode) && j + 2 * FOVEA_PANEL <= end;
        const size_t at_once = pair ? 2 * FOVEA_PANEL : FOVEA_PANEL, left = end - j;
        of.keys = near && half == rows && left > at_once ? left / at_once * at_once : attention_min(at_once, left);
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
            of.ahead = of.row == 0 && !near ? v : NULL;
            of.next = !near || of.row != 0  ? NULL
                      : j + of.keys < most  ? decode_k(decode, j + of.keys)
                      : most == chunk->keys ? decode->k_next
                                            : NULL;
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
