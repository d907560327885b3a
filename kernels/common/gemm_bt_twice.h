// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_bt_twice.h - prefetches of one row of C over a transposed B into L2, each line twice.
//
// 16 rows or more are read side by side, in segments of a few lines. Meanwhile the next segment and the one after it
// are prefetched, two lines of every second row, and then of the rows between: so few streams are read faster than one
// for each row, and what was dropped the first time is asked for again.
//
// Zen 4, of the speed with each row prefetched once, 32 lines ahead, AVX-512 in huge pages and in pages of 4 KiB: k of
// 384 to 1024 1.06 to 1.16 and 0.99 to 1.11, 2048 to 4864 1.03 to 1.11 and 1.0 to 1.06, 14336 0.98 to 1.04 and 0.98.
// AVX2, 32 rows: 1.0 to 1.2 and 0.96 to 1.18, most where rows alias. Segments of 8, 12, 20 and 32 lines 1 to 2 % less;
// whole rows the same up to k = 1024, 0.93 from 4096 on. Whole rows asked for once 1.03; four streams twice 1.11, but
// 1.00 in pages of 4 KiB, one stream 1.13 and 0.90, 16 streams 0.95. Two rows of C and more 0.97 to 1.14, in pages of
// 4 KiB 0.93 to 1.11.
#ifndef FOVEA_KERNELS_COMMON_GEMM_BT_TWICE_H
#define FOVEA_KERNELS_COMMON_GEMM_BT_TWICE_H

#include "kernels/common/unroll.h"
#include "kernels/kernel.h"

enum { GEMM_BT_TWICE = 16 }; ///< most lines of a row in one segment

/// State along the k steps of a panel: `segment` of its `segments` is being read, of `blocks` blocks or lines of a row
/// each, an even number (the last one of fewer), and `at` of them are done.
struct gemm_bt_twice {
    const float *next; ///< the first row's line of the next segment to prefetch now
    ptrdiff_t after;   ///< from there to that of the segment after it
    size_t segment, segments, blocks, at;
};

/// The first row's line with which segment i begins, of a panel of `rows` rows that begins at `begin`, or of those
/// behind it.
static inline __attribute__((always_inline)) const float *gemm_bt_twice_line(const struct fovea_gemm_bt_tile *t,
                                                                             const struct gemm_bt_twice *twice,
                                                                             const float *begin, size_t rows, size_t i)
{
    const size_t panel = i / twice->segments, column = i % twice->segments * twice->blocks * FOVEA_PANEL;
    return begin + (ptrdiff_t)(panel * rows) * t->b_row + column;
}

/// Begins segment i.
static inline __attribute__((always_inline)) void gemm_bt_twice_segment(const struct fovea_gemm_bt_tile *t,
                                                                        struct gemm_bt_twice *twice, const float *begin,
                                                                        size_t rows, size_t i)
{
    twice->segment = i;
    twice->at = 0;
    twice->next = gemm_bt_twice_line(t, twice, begin, rows, i + 1);
    twice->after = gemm_bt_twice_line(t, twice, begin, rows, i + 2) - twice->next;
}

/// Begins a panel of `rows` rows, an even number.
static inline __attribute__((always_inline)) struct gemm_bt_twice
gemm_bt_twice_begin(const struct fovea_gemm_bt_tile *t, const float *begin, size_t rows)
{
    const size_t lines = t->k > FOVEA_PANEL ? (t->k + FOVEA_PANEL - 1) / FOVEA_PANEL : 1;
    struct gemm_bt_twice twice = {.segments = (lines + GEMM_BT_TWICE - 1) / GEMM_BT_TWICE};
    twice.blocks = (lines + 2 * twice.segments - 1) / (2 * twice.segments) * 2;
    gemm_bt_twice_segment(t, &twice, begin, rows, 0);
    return twice;
}

/// Prefetches the share of a block, as many lines of either segment as there are rows.
static inline __attribute__((always_inline)) void
gemm_bt_twice(const struct fovea_gemm_bt_tile *t, struct gemm_bt_twice *twice, const float *begin, size_t rows)
{
    const float *line = twice->next;
    FV_UNROLL
    for (size_t r = 0; r < rows; r += 2, line += 2 * t->b_row) {
        __builtin_prefetch(line, 0, 2);
        __builtin_prefetch(line + FOVEA_PANEL, 0, 2);
        __builtin_prefetch(line + twice->after, 0, 2);
        __builtin_prefetch(line + twice->after + FOVEA_PANEL, 0, 2);
    }
    twice->next += 2 * FOVEA_PANEL;
    if (++twice->at == twice->blocks / 2) {
        twice->next += t->b_row - (ptrdiff_t)(twice->blocks * FOVEA_PANEL);
    }
    if (twice->at == twice->blocks) {
        gemm_bt_twice_segment(t, twice, begin, rows, twice->segment + 1);
    }
}

#endif
