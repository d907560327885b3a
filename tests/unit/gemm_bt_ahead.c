// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_bt_ahead.c - what is prefetched of a transposed B: into L2 every line so many lines before its use,
// or for one row of C twice, in each of the two segments before its own; into L1 before the segment that uses it begins
// (but one of each row, where a panel's first segment is longer than its last), and none more than twice, whatever the
// order.
#include "tests/support/test.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static void ask(const void *line);
#define __builtin_prefetch(line, write, level) ask(line)
#define FV_LANES 16 // as AVX-512 has
#include "kernels/common/gemm_bt_ahead.h"
#undef __builtin_prefetch

enum { PANELS = 3, ROWS_MAX = 32, LINES_MAX = 160 };

static float b[PANELS * ROWS_MAX * LINES_MAX * FOVEA_PANEL];
static unsigned asked[PANELS * ROWS_MAX * LINES_MAX]; // by lines of b
static size_t elsewhere, turns;                       // turns: lines that are not behind the one before

static void ask(const void *line)
{
    static ptrdiff_t last;
    const ptrdiff_t i = ((const float *)line - b) / FOVEA_PANEL;
    turns += i != last + 1;
    last = i;
    if (i >= 0 && i < (ptrdiff_t)(sizeof asked / sizeof *asked))
        asked[i]++;
    else
        elsewhere++;
}

// Panels of `rows` rows of `lines` lines, M rows of C.
static inline __attribute__((always_inline)) void walk(size_t lines, size_t rows, uint32_t into_l1, int M)
{
    const size_t panel = rows * lines;
    struct fovea_gemm_bt_tile t = {.k = lines * FOVEA_PANEL, .b_row = (ptrdiff_t)(lines * FOVEA_PANEL)};
    t.m = (size_t)M;
    t.into_l1 = into_l1;
    memset(asked, 0, sizeof asked);
    elsewhere = turns = 0;
    for (size_t j = 0; j < PANELS; j++) {
        const float *const begin = b + j * panel * FOVEA_PANEL;
        struct gemm_bt_place place = gemm_bt_begin(&t, begin, rows, M);
        const size_t first = into_l1 ? place.blocks : lines < GEMM_BT_LINES ? lines : GEMM_BT_LINES;
        const size_t blocks = into_l1 ? lines / ((lines + first - 1) / first) : first; // of the last segment
        size_t late = 0;
        for (size_t i = 0; i < lines; i++) {
            for (size_t r = 0; r < rows && (j != 0 || i >= first); r++)
                late += asked[j * panel + r * lines + i] == 0;
            gemm_bt_ahead(&t, &place, begin + i * FOVEA_PANEL, begin, rows);
        }
        CHECK(late <= (blocks < first ? rows : 0),
              "%zu lines, %zu rows, M %d, into L1 %u, panel %zu: %zu lines are late", lines, rows, M, (unsigned)into_l1,
              j, late);
    }
    // A row after another turns once a segment, four side by side every second line, all of them with each line.
    const bool beside = !into_l1 || (M >= 2 && M <= 6);
    CHECK(lines < 24 || (turns > PANELS * panel / 3) == beside, "%zu lines, %zu rows, M %d, into L1 %u: %zu turns",
          lines, rows, M, (unsigned)into_l1, turns);
    size_t often = 0;
    for (size_t i = 0; i < PANELS * panel; i++)
        often += asked[i] > 2;
    CHECK(often == 0, "%zu lines, %zu rows, M %d: %zu lines are asked for again and again", lines, rows, M, often);
    CHECK(elsewhere <= panel, "%zu lines, %zu rows, M %d: %zu lines of no panel", lines, rows, M, elsewhere);
}

// Panels of `rows` rows of `lines` lines, one row of C, into L2, in segments of `length` lines. A last segment that is
// shorter asks for less of the next two, and is asked for with lines of the next rows.
static void walk_twice(size_t lines, uint32_t length, size_t rows)
{
    const size_t panel = rows * lines, segments = (lines + length - 1) / length, missing = segments * length - lines;
    const struct fovea_gemm_bt_tile t = {
        .m = 1, .k = lines * FOVEA_PANEL, .b_row = (ptrdiff_t)(lines * FOVEA_PANEL), .twice = length};
    memset(asked, 0, sizeof asked);
    elsewhere = turns = 0;
    for (size_t j = 0; j < PANELS; j++) {
        const float *const begin = b + j * panel * FOVEA_PANEL;
        struct gemm_bt_place place = gemm_bt_begin(&t, begin, rows, 1);
        size_t never = 0, once = 0;
        for (size_t i = 0; i < lines; i++) {
            const size_t segment = j * segments + i / length;
            for (size_t r = 0; r < rows; r++) {
                never += segment > 0 && asked[j * panel + r * lines + i] == 0;
                once += segment > 1 && asked[j * panel + r * lines + i] == 1;
            }
            gemm_bt_ahead(&t, &place, begin + i * FOVEA_PANEL, begin, rows);
        }
        CHECK(never <= (segments == 1 ? missing * rows / 2 : 0) && once <= 2 * missing * rows,
              "%zu lines, %zu rows, panel %zu: %zu never asked for, %zu once", lines, rows, j, never, once);
    }
    size_t often = 0;
    for (size_t i = 0; i < PANELS * panel; i++)
        often += asked[i] > 2;
    CHECK(often <= 2 * PANELS * missing * rows, "%zu lines, %zu rows: %zu asked for again and again", lines, rows,
          often);
    CHECK(elsewhere <= 3 * panel + 2 * rows * length, "%zu lines, %zu rows: %zu of no panel", lines, rows, elsewhere);
    CHECK(turns <= PANELS * panel, "%zu lines, %zu rows: %zu turns, not two lines of a row at a time", lines, rows,
          turns);
}

int main(void)
{
    static const size_t lines[] = {1, 2, 7, 8, 24, 48, 63, 64, 65, 96, 100, 128, 131, LINES_MAX};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (uint32_t into_l1 = 0; into_l1 < 2; into_l1++) {
            walk(lines[i], 8, into_l1, 1);
            walk(lines[i], 8, into_l1, 4);
            walk(lines[i], 16, into_l1, 1);
            walk(lines[i], 16, into_l1, 4);
            walk(lines[i], 16, into_l1, 8);
            walk(lines[i], ROWS_MAX, into_l1, 2);
        }
    static const struct {
        size_t lines;
        uint32_t length;
    } twice[] = {{1, 8}, {7, 8}, {16, 16}, {24, 12}, {48, 16}, {63, 16}, {65, 14}, {100, 10}, {131, 12}, {160, 16}};
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
        for (size_t rows = 8; rows <= ROWS_MAX; rows *= 2)
            walk_twice(twice[i].lines, twice[i].length, rows);
    return test_done();
}
