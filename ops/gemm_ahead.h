// SPDX-License-Identifier: Apache-2.0
// ops/gemm_ahead.h - prefetches by the tiles of a group of strips: part of ops/gemm_area.c.
#ifndef FOVEA_OPS_GEMM_AHEAD_H
#define FOVEA_OPS_GEMM_AHEAD_H

#include "ops/gemm_block.h"
#include "ops/gemm_follow.h"

// What the micro-kernel calls of a group prefetch: the panels of the next group, or what they themselves read later.
struct gemm_ahead {
    const float *next;
    size_t calls;          // calls that still have something to prefetch
    ptrdiff_t step, panel; // as in struct fovea_gemm_tile
    ptrdiff_t call, turn;  // call: from one call to the next; turn: from the last share of a panel to the next panel
    size_t share, shares;  // number of shares in which a panel is prefetched
    const float *half;     // with two tiles: where the second one starts; each prefetches half of every panel
};

// If strips have one panel, a packed B is read as one stream, and prefetched this many steps ahead.
enum { STREAM_STEPS = 128 };

// A line takes about 300 cycles from memory, during which it occupies one of a dozen fill buffers, and B itself needs
// three of them to move from L2 to L1. If there are enough calls, each therefore prefetches a line only every second
// step (128x3072x768: 79 % of the peak with a line per step in every fifth tile, 83 % with two tiles per panel).
enum { SHARES = 2 };

// Rows of a matrix may begin within cache lines. Of the two lines that then hold 16 columns the last one is prefetched:
// the first is the last one of the columns before. When the first one was prefetched instead, 4 to 8 rows stalled on
// each of the others (Zen 4, natural B from memory, ldb of 300 to 5000, rows of C: one 1.2, four 1.7 to 2.1, eight 1.5
// to 3.6 times as fast, 40 to 100 1.03 to 1.1).
enum { LAST = FOVEA_PANEL - 1 };

// Prefetches for a group of `strips` strips and `tiles` tiles of rows, whose next group is [next, end). Not for so few
// rows that they follow B (fovea_gemm_follows).
static inline struct gemm_ahead gemm_look_ahead(const struct gemm_block *block, size_t next, size_t end, size_t tiles,
                                                size_t strips)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const bool rows = area->b_panels == NULL && !plan->desc.b_packed && plan->desc.trans_b == FOVEA_TRANS;
    if (block->steps == 0 || !plan->kernel->ahead) {
        return (struct gemm_ahead){.next = NULL};
    }
    if (tiles == 1 && fovea_gemm_streams(plan)) {
        const struct gemm_panels b = gemm_b_source(block, next - strips); // the area's last panel has no successor
        return (struct gemm_ahead){.next = b.first + STREAM_STEPS * b.step,
                                   .calls = next < area->strip + area->strips ? strips : strips - 1,
                                   .step = b.step,
                                   .call = b.panel,
                                   .shares = 1};
    }
    if (next >= end) {
        return (struct gemm_ahead){.next = NULL};
    }
    const size_t first = fovea_cut_begin(&plan->strips, next), panels = fovea_cut_begin(&plan->strips, end) - first;
    struct gemm_panels b;
    if (gemm_is_kept(block)) {
        b = gemm_packed(gemm_room_of(block, next, next), block->steps);
    } else if (plan->desc.b_type != FOVEA_F32) { // steps of half a line or less
        const struct fovea_source source = fovea_source_of(&plan->desc, area->b);
        const size_t step = FOVEA_PANEL * fovea_type_bytes(source.type);
        b = (struct gemm_panels){(const float *)(const void *)fovea_elements_at(&source, block->p, first),
                                 (ptrdiff_t)(fovea_panel_bytes(source.type, plan->k) / sizeof(float)),
                                 (ptrdiff_t)(step / sizeof(float))};
    } else if (rows) { // 16 rows of a transposed B: as many lines as steps, adjacent if a block is all of k
        const ptrdiff_t panel = (ptrdiff_t)(FOVEA_PANEL * plan->desc.ldb);
        const float *const rows_of_b = area->b;
        b = (struct gemm_panels){rows_of_b + (ptrdiff_t)first * panel + block->p, panel, FOVEA_PANEL};
    } else {
        b = gemm_b_source(block, first);
        b.first += b.step != FOVEA_PANEL ? LAST : 0;
    }
    const size_t calls = tiles * strips;
    struct gemm_ahead ahead = {.next = b.first, .calls = panels, .step = b.step, .call = b.panel, .shares = 1};
    if (calls < panels) {
        ahead.calls = strips;
        ahead.panel = b.panel;
        ahead.call = (ptrdiff_t)fovea_ceil_div(panels, strips) * b.panel;
        if (tiles == 2 && b.step == FOVEA_PANEL) {
            ahead.calls = calls;
            ahead.step = FOVEA_PANEL / 2;
            ahead.half = b.first + (ptrdiff_t)block->steps * ahead.step;
        }
    } else if (calls >= SHARES * panels && b.step == FOVEA_PANEL) {
        ahead.calls = SHARES * panels;
        ahead.shares = SHARES;
        ahead.step = FOVEA_PANEL / SHARES;
        ahead.call = (ptrdiff_t)block->steps * ahead.step;
        ahead.turn = b.panel - (SHARES - 1) * ahead.call;
    }
    return ahead;
}

// For a transposed A whose next rows are about to be copied: their lines, and after these the lines they are copied to.
struct gemm_ahead_of_a {
    struct gemm_ahead source, target;
};

// For rows [row, row + count), up to `end`, of a chunk that begins with row `begin`. 16 rows are one line of each step;
// these lines are far apart, so no hardware prefetcher predicts them: a block of 16 x 16 took 900 cycles of Zen 4, 100
// of them to transpose it (512 cubes tn and tt 1.06 and 1.07 times as fast, 1024 1.02 and 1.01).
static inline struct gemm_ahead_of_a gemm_look_ahead_of_a(const struct gemm_block *block, size_t begin, size_t row,
                                                          size_t end, size_t count)
{
    const struct fovea_gemm_layout *const plan = block->area->plan;
    if (plan->desc.trans_a != FOVEA_TRANS || !plan->kernel->ahead || row >= end) {
        return (struct gemm_ahead_of_a){.source = {.next = NULL}};
    }
    const struct fovea_gemm_a a = gemm_a_source(block, row);
    const size_t calls = fovea_ceil_div(fovea_min(count, end - row), FOVEA_PANEL);
    return (struct gemm_ahead_of_a){
        .source = {.next = a.first + LAST, .calls = calls, .step = a.k, .call = FOVEA_PANEL, .shares = 1},
        .target = {.next = block->area->a_room + (row - begin) * fovea_gemm_pitch(plan->kc),
                   .calls = calls,
                   .step = FOVEA_PANEL,
                   .call = (ptrdiff_t)block->steps * FOVEA_PANEL,
                   .shares = 1},
    };
}

// Selects which still has something to prefetch; A's is needed first.
static inline __attribute__((always_inline)) struct gemm_ahead *gemm_next_ahead(struct gemm_ahead_of_a *a,
                                                                                struct gemm_ahead *b)
{
    return a->source.calls != 0 ? &a->source : a->target.calls != 0 ? &a->target : b;
}

// Sets the share of the next call.
static inline __attribute__((always_inline)) void gemm_set_ahead(struct gemm_ahead *ahead, struct fovea_gemm_tile *tile)
{
    if (ahead->calls == 0) {
        return;
    }
    ahead->calls--;
    tile->ahead = ahead->next;
    tile->ahead_step = ahead->step;
    tile->ahead_panel = ahead->panel;
    ahead->share = ahead->share + 1 < ahead->shares ? ahead->share + 1 : 0;
    ahead->next += ahead->shares > 1 && ahead->share == 0 ? ahead->turn : ahead->call;
}

#endif
