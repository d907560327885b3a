// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_bt_twice.h - prefetches of one row of C over a transposed B into L2, each line twice.
//
// Eight rows or 16 are read side by side, in segments of a few lines. Meanwhile the next segment and the one after it
// are prefetched, two lines of every second row, and then of the rows between: half as many streams as rows, and what
// was dropped the first time is asked for again.
//
// Zen 4, AVX-512, 16 rows, of the speed with each row prefetched once, 32 lines ahead, in huge pages and in pages of
// 4 KiB: k of 384 to 1024 1.06 to 1.16 and 0.99 to 1.11, 1152 to 1920 1.05 to 1.09, 2048 to 4864 1.03 to 1.11 and 1.0
// to 1.06, 14336 0.98 to 1.04 and 0.98. Segments of eight, 12, 20 and 32 lines 1 to 2 % less; whole rows the same up to
// k = 1024, 0.93 from 4096 on. Whole rows asked for once 1.05; four streams twice 1.11, but 1.00 in pages of 4 KiB, one
// stream 1.13 and 0.90, 16 streams 0.95. Two rows of C and more 0.97 to 1.14, in pages of 4 KiB 0.90 to 1.11; one
// column of C, whose A is read like this B, 0.96 to 1.05.
#ifndef FOVEA_KERNELS_COMMON_GEMM_BT_TWICE_H
#define FOVEA_KERNELS_COMMON_GEMM_BT_TWICE_H

#include "kernels/common/unroll.h"
#include "kernels/kernel.h"

/// Where a segment begins: the first row's line, and which line of its row that is.
struct gemm_bt_segment_at {
    const float *line;
    size_t column;
};

/// State along the k steps of a panel: the segments that are prefetched, the next one for the second time.
struct gemm_bt_twice {
    struct gemm_bt_segment_at next, after;
    const float *line; ///< of the next one, to prefetch now
    size_t at;         ///< lines done, of both rows of a pair
    size_t lines;      ///< of a row
};

/// The segment behind `of`, in the same rows or, `rows` rows further on, in the next ones.
static inline __attribute__((always_inline)) struct gemm_bt_segment_at
gemm_bt_behind(const struct fovea_gemm_bt_tile *t, struct gemm_bt_segment_at of, size_t lines, size_t rows)
{
    const size_t column = of.column + t->twice;
    if (column < lines) {
        return (struct gemm_bt_segment_at){of.line + (size_t)t->twice * FOVEA_PANEL, column};
    }
    return (struct gemm_bt_segment_at){of.line - of.column * FOVEA_PANEL + (ptrdiff_t)rows * t->b_row, 0};
}

/// Begins a panel of `rows` rows, an even number, whose first one begins at `begin`.
static inline __attribute__((always_inline)) struct gemm_bt_twice
gemm_bt_twice_begin(const struct fovea_gemm_bt_tile *t, const float *begin, size_t rows)
{
    struct gemm_bt_twice twice = {.lines = (t->k + FOVEA_PANEL - 1) / FOVEA_PANEL};
    twice.next = gemm_bt_behind(t, (struct gemm_bt_segment_at){begin, 0}, twice.lines, rows);
    twice.after = gemm_bt_behind(t, twice.next, twice.lines, rows);
    twice.line = twice.next.line;
    return twice;
}

/// Prefetches the share of a block, as many lines of either segment as there are rows.
static inline __attribute__((always_inline)) void gemm_bt_fetch_twice(const struct fovea_gemm_bt_tile *t,
                                                                      struct gemm_bt_twice *twice, size_t rows)
{
    const ptrdiff_t apart = twice->after.line - twice->next.line;
    const float *line = twice->line;
    FV_UNROLL
    for (size_t r = 0; r < rows; r += 2, line += 2 * t->b_row) {
        __builtin_prefetch(line, 0, 2);
        __builtin_prefetch(line + FOVEA_PANEL, 0, 2);
        __builtin_prefetch(line + apart, 0, 2);
        __builtin_prefetch(line + apart + FOVEA_PANEL, 0, 2);
    }
    twice->line += 2 * FOVEA_PANEL;
    twice->at += 2;
    if (twice->at == t->twice) { // of the other row of each pair
        twice->line += t->b_row - (ptrdiff_t)(t->twice * FOVEA_PANEL);
    } else if (twice->at == 2 * t->twice) {
        twice->at = 0;
        twice->next = twice->after;
        twice->after = gemm_bt_behind(t, twice->after, twice->lines, rows);
        twice->line = twice->next.line;
    }
}

#endif
