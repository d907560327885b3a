// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_bt_ahead.h - prefetches of the kernels for few rows over a transposed B: of the next rows, or of
// those being read.
#ifndef FOVEA_KERNELS_COMMON_GEMM_BT_AHEAD_H
#define FOVEA_KERNELS_COMMON_GEMM_BT_AHEAD_H

#include "kernels/common/gemm_bt_twice.h"
#include "kernels/common/unroll.h"
#include "kernels/kernel.h"

/// How many lines ahead of its use each row that is read is prefetched into L2; its last lines ask for the first ones
/// of the next rows. Zen 4, B from memory in pages of 4 KiB: 1 to 16 rows of C 1.15 to 1.5 times as fast as the next
/// rows one after another, in segments as below; 16 and 32 lines the same, 64 lines 0.9 to 1.0 of that, 8 lines 0.6 to
/// 0.9. Loads alone, eight rows side by side: 24 GB/s without prefetches, 30 with lines of these rows ahead in any
/// order, with a hint for L1 22; with the next rows 22 to 28, depending on where the pages lie. In huge pages the two
/// are alike (0.97 to 1.01; loads alone 32).
enum { GEMM_BT_LINES = 32 };

/// Into L1: most blocks per segment of a panel. While one segment is computed, the next one is prefetched row by row,
/// sixteen adjacent lines of one row at a time. Rows of up to 64 lines are best prefetched whole, in memory order (Zen
/// 5): M = 1, k to 1024 1.03 to 1.24 times as fast as the same with a hint for L2, in segments of 24 lines 0.86
/// to 1.20; k of 3072 and more 1.04 to 1.06, in such segments 1.25 to 1.43 (32 lines 1.20 to 1.31, 12 lines 1.12
/// to 1.17). Two to six rows of C are faster with segments of 32 lines, and with four rows of B side by side rather
/// than one after another: 1.02 to 1.2 times as fast; one row 0.97 to 1.03, eight 0.95 to 1.04, 12 and 16 0.96.
enum { GEMM_BT_SEGMENT = 64, GEMM_BT_SEGMENT_L1 = 24, GEMM_BT_SEGMENT_BESIDE = 32, GEMM_BT_BESIDE = 4 };

/// One row, and seven and more, since: 16 or eight lines, whole pieces of what a block prefetches, where these divide a
/// row. Two segments of 24 lines of 16 rows are all of L1, and A is there, too. Zen 5, from memory, times as fast: one
/// row 1.00 to 1.26; 16 rows, k of 512 to 1024 1.03 to 1.26, of 1152 to 3072 1.31 to 1.5, of 4096 and 4864 1.1 to 1.14;
/// 7 and 8 rows 1.03 to 1.2, 12 rows 1.02 to 1.12 (two to six rows 0.91 to 1.27; AVX2, one row, 0.94 to 1.05, k to
/// 1024, where it stays whole, 0.79 to 0.90). What neither divides stays: k of 1100, nine to 12 rows, in segments of 16
/// 0.75 to 0.83.
enum { GEMM_BT_SEGMENT_WHOLE = 16, GEMM_BT_PIECE = 8 };

/// State of the prefetches along the k steps of a panel, or of half a panel. Into L2: the line of the first row to
/// prefetch next, and the blocks left until it goes on in the next rows. Into L1: the current segment has as many
/// blocks as lines of each row: `blocks`, of which `at` are done; `segments` and `left` are the segments and blocks of
/// k still to come.
struct gemm_bt_place {
    const float *next; ///< the next line to prefetch, into L1 the first of the `lines` left of its row
    ptrdiff_t beside;  ///< rows prefetched side by side: GEMM_BT_BESIDE, or 1
    int again;         ///< 1: `twice` has the state
    struct gemm_bt_twice twice;
    size_t lines, at, blocks, segments, left;
};

/// Begins the segment whose first block is at b, in rows that begin at `begin`; the next rows are `rows` rows further
/// on.
static inline void gemm_bt_segment(const struct fovea_gemm_bt_tile *t, struct gemm_bt_place *place, const float *b,
                                   const float *begin, size_t rows)
{
    place->at = 0;
    place->blocks = place->lines = place->segments ? (place->left + place->segments - 1) / place->segments : 0;
    place->next = place->segments == 1 ? begin + (ptrdiff_t)rows * t->b_row : b + place->blocks * FOVEA_PANEL;
}

/// Whether M rows of C, a constant, are served best by long segments of four rows of B side by side.
static inline __attribute__((always_inline)) int gemm_bt_beside_rows(int M)
{
    return M >= 2 && M <= 6;
}

/// The most blocks of a segment, of `blocks`, for M rows of C.
static inline __attribute__((always_inline)) size_t gemm_bt_most(size_t blocks, int M)
{
    const int whole = !gemm_bt_beside_rows(M) && (FV_LANES == FOVEA_PANEL || blocks > GEMM_BT_SEGMENT);
    for (size_t most = GEMM_BT_SEGMENT_WHOLE; most >= GEMM_BT_PIECE; most /= 2) {
        if (whole && blocks % most == 0) {
            return most;
        }
    }
    const size_t of_l1 = gemm_bt_beside_rows(M) ? GEMM_BT_SEGMENT_BESIDE : GEMM_BT_SEGMENT_L1;
    return blocks > GEMM_BT_SEGMENT ? of_l1 : GEMM_BT_SEGMENT;
}

/// M, a constant, is the number of rows of C.
static inline __attribute__((always_inline)) struct gemm_bt_place gemm_bt_begin(const struct fovea_gemm_bt_tile *t,
                                                                                const float *begin, size_t rows, int M)
{
    const size_t blocks = (t->k + FOVEA_PANEL - 1) / FOVEA_PANEL;
    if (M == 1 && t->twice) {
        return (struct gemm_bt_place){.again = 1, .twice = gemm_bt_twice_begin(t, begin, rows)};
    }
    if (!t->into_l1) {
        const size_t lines = GEMM_BT_LINES;
        const float *const next = lines < blocks ? begin + lines * FOVEA_PANEL : begin + (ptrdiff_t)rows * t->b_row;
        return (struct gemm_bt_place){.next = next, .left = lines < blocks ? blocks - lines : blocks};
    }
    const size_t most = gemm_bt_most(blocks, M);
    struct gemm_bt_place place = {.segments = (blocks + most - 1) / most, .left = blocks};
    place.beside = gemm_bt_beside_rows(M) ? GEMM_BT_BESIDE : 1;
    gemm_bt_segment(t, &place, begin, begin, rows);
    return place;
}

/// Prefetches `lines` lines from `line` on, a constant number, into L1.
static inline __attribute__((always_inline)) void gemm_bt_fetch(const float *line, size_t lines)
{
    FV_UNROLL
    for (size_t i = 0; i < lines; i++) {
        __builtin_prefetch(line + i * FOVEA_LINE, 0, 3);
    }
}

/// Prefetches a line of each row into L2.
static inline __attribute__((always_inline)) void
gemm_bt_line(const struct fovea_gemm_bt_tile *t, struct gemm_bt_place *place, const float *begin, size_t rows)
{
    const float *line = place->next;
    FV_UNROLL
    for (size_t r = 0; r < rows; r++, line += t->b_row) {
        __builtin_prefetch(line, 0, 2);
    }
    place->next += FOVEA_PANEL;
    if (--place->left == 0) {
        place->next = begin + (ptrdiff_t)rows * t->b_row;
    }
}

/// Moves on to the next rows of the segment when those before have no more lines.
static inline __attribute__((always_inline)) void gemm_bt_next_row(const struct fovea_gemm_bt_tile *t,
                                                                   struct gemm_bt_place *place)
{
    place->lines = place->blocks;
    place->next += place->beside * t->b_row - (ptrdiff_t)(place->blocks * FOVEA_PANEL);
}

/// Prefetches the share of the block at b: as many lines as there are rows, or, of those asked for twice, as many of
/// either segment; into L1 row after row, or of four rows side by side.
static inline __attribute__((always_inline)) void gemm_bt_ahead(const struct fovea_gemm_bt_tile *t,
                                                                struct gemm_bt_place *place, const float *b,
                                                                const float *begin, size_t rows)
{
    if (place->again) {
        gemm_bt_fetch_twice(t, &place->twice, rows);
        return;
    }
    if (!t->into_l1) {
        gemm_bt_line(t, place, begin, rows);
        return;
    }
    enum { PIECE = GEMM_BT_PIECE };
    const size_t lines = place->beside == 1 ? PIECE : PIECE / GEMM_BT_BESIDE; // of each row
    FV_UNROLL
    for (size_t piece = 0; piece < rows; piece += PIECE) {
        if (place->lines >= lines) {
            if (place->beside == 1) {
                gemm_bt_fetch(place->next, PIECE);
            } else {
                FV_UNROLL
                for (ptrdiff_t r = 0; r < GEMM_BT_BESIDE; r++) {
                    gemm_bt_fetch(place->next + r * t->b_row, PIECE / GEMM_BT_BESIDE);
                }
            }
            place->next += lines * FOVEA_PANEL;
            place->lines -= lines;
            if (place->lines == 0) {
                gemm_bt_next_row(t, place);
            }
        } else { // not unrolled: its branches took 2 to 6 % of the time of few rows on Zen 5
            FV_ROLLED
            for (size_t i = 0; i < lines; i++) {
                FV_ROLLED
                for (ptrdiff_t r = 0; r < place->beside; r++) {
                    gemm_bt_fetch(place->next + r * t->b_row, 1);
                }
                place->next += FOVEA_PANEL;
                if (--place->lines == 0) {
                    gemm_bt_next_row(t, place);
                }
            }
        }
    }
    if (++place->at == place->blocks) {
        place->left -= place->blocks;
        place->segments--;
        gemm_bt_segment(t, place, b + FOVEA_PANEL, begin, rows);
    }
}

/// Prefetches the first line of a page that lies t->touch pages ahead of the next line to prefetch: its page-table
/// walk is done when the lines of that page are prefetched, and the hardware prefetcher begins there. Always the same
/// line, or each would begin a stream.
static inline __attribute__((always_inline)) void gemm_bt_touch(const struct fovea_gemm_bt_tile *t,
                                                                const struct gemm_bt_place *place)
{
    const float *const next = place->again ? place->twice.next.line : place->next;
    const uintptr_t page = FOVEA_PAGE * sizeof(float), at = (uintptr_t)next + t->touch * page;
    __builtin_prefetch((const char *)(at / page * page), 0, 3);
}

/// Prefetches the lines of all rows that are used t->stream blocks after those at b; each row is a stream of its own.
/// Always inlined: gcc 12 takes a function that only prefetches for one without side effects, and drops calls of it.
static inline __attribute__((always_inline)) void gemm_bt_stream(const struct fovea_gemm_bt_tile *t, const float *b)
{
    b += (size_t)t->stream * FOVEA_PANEL;
    for (size_t r = 0; r < t->n; r++, b += t->b_row) {
        __builtin_prefetch(b, 0, 3);
    }
}

#endif
