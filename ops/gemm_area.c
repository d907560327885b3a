// SPDX-License-Identifier: Apache-2.0
// ops/gemm_area.c - the loops over one area of C.
//
// The loops, outermost first: k blocks, chunks of rows, groups of strips, tiles of mr rows, strips. A group of strips
// of B stays in L2, and a tile's rows of A in L1, while the strips of the group are computed. B is packed strip by
// strip when its first tile needs it, natural rows by that tile, rows of a transposed B by the first rows of C
// (gemm_first.c), and A is copied tile by tile when its first group does, so both are used while in cache. While a
// group is computed its tiles prefetch the next one, a panel each, so that B is streamed from memory or L3 during the
// arithmetic. If all rows fit in one tile, the hardware prefetcher follows B, or the tile itself prefetches what it
// reads a little later (fovea_gemm_follows).
#include "ops/gemm_ahead.h"
#include <string.h>

// Rows of A copied at a time: whole 16 x 16 transposes, used while they are in L2.
enum { COPY_ROWS = 48 };

// B of a strip: in place, or in b_room. There the first tile packs it, of natural rows as it reads them if `packs`.
static inline __attribute__((always_inline)) struct gemm_panels b_of_strip(const struct gemm_block *block, size_t group,
                                                                           size_t strip, bool first_tile, bool packs,
                                                                           struct fovea_gemm_tile *tile)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const size_t begin = fovea_gemm_strip_begin(plan, strip), end = fovea_gemm_strip_end(plan, strip);
    // A natural partial panel ends before its 16 columns, so it is packed even if the others are read in place.
    const bool in_place = plan->desc.b_packed || area->b_panels != NULL || (!area->pack_b && end % FOVEA_PANEL == 0);
    if (in_place || block->steps == 0) {
        return gemm_b_source(block, begin / FOVEA_PANEL);
    }
    float *const room = gemm_room_of(block, group, strip);
    const struct gemm_panels packed = gemm_packed(room, block->steps);
    if (first_tile && packs && end % FOVEA_PANEL == 0) {
        tile->packed = room;
        tile->packed_panel = packed.panel;
        return gemm_b_source(block, begin / FOVEA_PANEL);
    }
    if (first_tile && !gemm_is_kept(block)) {
        const struct fovea_source source = fovea_source_of(&plan->desc, area->b);
        fovea_pack_panels(plan->kernels, &source, block->p, begin, block->steps, end - begin, room);
    }
    return packed;
}

void fovea_gemm_copy_a(const struct fovea_gemm_layout *plan, const float *a, size_t steps, size_t count, float *dst,
                       size_t pitch)
{
    const size_t lda = plan->desc.lda;
    if (plan->desc.trans_a == FOVEA_TRANS) {
        plan->kernels->transpose.run(steps, count, 1.0f, a, (ptrdiff_t)lda, dst, (ptrdiff_t)pitch);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(dst + i * pitch, a + i * lda, steps * sizeof(float));
    }
}

// Number of tiles for one call of the micro-kernel, out of `same` remaining ones with as many rows. A call costs up to
// 1 % of a product. But rows of A have to stay in L1 while several strips are computed, and what has to be done before
// or after a tile should find its rows there.
static size_t tiles_of_call(const struct gemm_ahead *ahead, size_t strips, bool hot, size_t same)
{
    return strips > 1 || ahead->calls != 0 ? 1 : hot ? fovea_min(FOVEA_HOT_TILES, same) : same;
}

// Prefetches C, which is written when a call's sums in acc are finished, and with beta read, too (Emerald Rapids, 100
// steps, C of 16 MB, 1.16 times as fast, 300 steps 1.01 to 1.06).
static void fetch_c(const float *c, size_t ldc, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j += FOVEA_PANEL) {
            __builtin_prefetch(c + i * ldc + j, 1, 3);
        }
    }
}

// Rows [begin, begin + count) x strips [first, end) of a k block, and what their tiles share.
struct group {
    const struct gemm_block *block;
    size_t begin, count, first, end;
    bool packs; // the first tile of a strip packs the natural B that it reads
    struct fovea_gemm_fetch fetch;
    bool in_tiles; // in the last k block: tiles apply the epilogue in registers,
    bool finishes; // or the epilogue kernel runs after each call of the micro-kernel
    size_t acc_row;
    size_t copied; // a_room holds rows [begin, copied)
    struct gemm_ahead ahead;
    struct gemm_ahead_of_a ahead_of_a;
};

// Whether the first tile of each strip of natural rows packs them, which costs less than to pack them before: 300 to
// 2048 rows 1.00 to 1.02 times as fast, 256 that meet in few sets 1.02 to 1.04 (Zen 4).
static bool packs_in_tiles(const struct gemm_block *block, size_t tiles)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const bool adjacent = plan->desc.trans_a != FOVEA_TRANS || area->a_room != NULL || area->a_copy != NULL;
    const bool natural = plan->desc.trans_b != FOVEA_TRANS && area->b_panels == NULL;
    return plan->kernel->packs && tiles > 1 && area->pack_b && natural && adjacent && !gemm_is_kept(block);
}

static struct group begin_group(const struct gemm_block *block, size_t begin, size_t count, size_t first, size_t end,
                                size_t tiles)
{
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const size_t last = area->strip + area->strips;
    const bool in_tiles = block->last && fovea_gemm_finishes_in_tiles(area), packs = packs_in_tiles(block, tiles);
    const struct fovea_gemm_fetch fetch = fovea_gemm_fetch_of(plan, area->rows, area->pack_b);
    return (struct group){
        .block = block,
        .begin = begin,
        .count = count,
        .first = first,
        .end = end,
        .packs = packs,
        .fetch = fetch,
        .in_tiles = in_tiles,
        .finishes = block->last && !in_tiles && fovea_gemm_finishes(area),
        .acc_row = gemm_acc_row(area),
        .copied = first == area->strip ? begin : begin + count, // the first group has copied them for the others
        .ahead = fovea_gemm_follows(&fetch)
                     ? (struct gemm_ahead){.next = NULL}
                     : gemm_look_ahead(block, end, fovea_min(end + (end - first), last), tiles - packs, end - first),
        .ahead_of_a = {.source = {.next = NULL}},
    };
}

// Copies rows of A into a_room until it holds those before `until`.
static inline __attribute__((always_inline)) void copy_rows(struct group *g, size_t until)
{
    const struct fovea_gemm_area *const area = g->block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const size_t pitch = fovea_gemm_pitch(plan->kc), end = g->begin + g->count;
    for (; g->copied < until; g->copied += COPY_ROWS) {
        fovea_gemm_copy_a(plan, gemm_a_source(g->block, g->copied).first, g->block->steps,
                          fovea_min(COPY_ROWS, end - g->copied), area->a_room + (g->copied - g->begin) * pitch, pitch);
        g->ahead_of_a = gemm_look_ahead_of_a(g->block, g->begin, g->copied + COPY_ROWS, end, COPY_ROWS);
    }
}

// Sets where a tile stores its sums, which begin at row `row` and column `column` of C: C itself, at c, or acc.
static inline __attribute__((always_inline)) void place_sums(const struct group *g, size_t row, size_t column, float *c,
                                                             struct fovea_gemm_tile *tile)
{
    const struct fovea_gemm_area *const area = g->block->area;
    const bool in_c = area->acc == NULL || g->in_tiles;
    tile->c = in_c ? c : gemm_acc_at(area, row, column);
    tile->c_row = (ptrdiff_t)(in_c ? area->plan->desc.ldc : g->acc_row);
}

// Few rows of C: prefetches of the strip's own panels, lead_steps ahead, and of the first steps of the next strip.
static inline __attribute__((always_inline)) void lead_strip(const struct group *g, size_t strip,
                                                             struct fovea_gemm_tile *tile)
{
    const struct fovea_gemm_area *const area = g->block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const size_t panels = fovea_gemm_panels(tile->n);
    tile->lead_steps = (uint32_t)(g->fetch.lead / panels);
    tile->ahead = NULL;
    if (tile->lead_steps != 0 && strip + 1 < area->strip + area->strips) {
        tile->ahead = gemm_b_source(g->block, fovea_gemm_strip_begin(plan, strip) / FOVEA_PANEL + panels).first;
    }
    tile->touch = g->fetch.touch;
    tile->ahead_step = tile->b_k;
    tile->ahead_panel = tile->b_panel;
}

// Number of strips, side by side from `strip` on, for one call of the micro-kernel: one if the call has something to
// prefetch, if the epilogue kernel follows it, or if B is packed strip by strip, as it is for the first tile.
static inline __attribute__((always_inline)) size_t strips_of_call(const struct group *g, size_t strip, bool first_tile,
                                                                   const struct fovea_gemm_tile *tile)
{
    const struct fovea_gemm_area *const area = g->block->area;
    const bool packing = area->pack_b && first_tile;
    const bool several = !g->finishes && tile->ahead == NULL && tile->lead_steps == 0 && !packing;
    return several ? fovea_gemm_strips_alike(area->plan, strip, g->end) : 1;
}

static void run_group(const struct gemm_block *block, size_t begin, size_t count, size_t first, size_t end)
{
    // The first rows pack a transposed B; the tiles of the others then only read it.
    const size_t before = fovea_gemm_first(block, begin, count, first, end);
    const bool packed = before != 0;
    begin += before;
    count -= before;
    const struct fovea_gemm_area *const area = block->area;
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_cut tiles = fovea_cut(count, plan->mr);
    const bool room = area->a_room != NULL && block->steps != 0;
    const size_t pitch = fovea_gemm_pitch(plan->kc);
    struct group g = begin_group(block, begin, count, first, end, tiles.count);
    struct fovea_gemm_terms terms = fovea_gemm_terms(plan);
    struct fovea_gemm_tile tile = {
        .k = block->steps,
        .mode = block->first ? FOVEA_GEMM_STORE : FOVEA_GEMM_ADD,
        .follows = fovea_gemm_follows(&g.fetch),
        .terms = g.in_tiles ? &terms : NULL,
    };
    for (size_t t = 0, row = begin, rows, tall; t < tiles.count; t += tall, row += rows) {
        const size_t same = fovea_cut_alike(&tiles, t);
        tile.m = fovea_cut_length(&tiles, t);
        tall = tiles_of_call(gemm_next_ahead(&g.ahead_of_a, &g.ahead), end - first, room || g.finishes, same);
        tall = g.packs && t == 0 ? 1 : tall;
        rows = tile.m * tall;
        if (room) {
            copy_rows(&g, row + rows);
        }
        const struct fovea_gemm_a a =
            room ? (struct fovea_gemm_a){area->a_room + (row - begin) * pitch, (ptrdiff_t)pitch, 1}
                 : gemm_a_source(block, row);
        tile.a = a.first;
        tile.a_row = a.row;
        tile.a_k = a.k;
        g.ahead.next = t == 1 && g.ahead.half != NULL ? g.ahead.half : g.ahead.next;
        for (size_t strip = first, wide; strip < end; strip += wide) {
            const size_t column = fovea_gemm_strip_begin(plan, strip);
            tile.packed = NULL;
            const struct gemm_panels b = b_of_strip(block, first, strip, t == 0 && !packed, g.packs, &tile);
            float *const c = area->c + row * d->ldc + (d->gated ? column / 2 : column);
            tile.n = fovea_gemm_strip_end(plan, strip) - column;
            tile.b = b.first;
            tile.b_panel = b.panel;
            tile.b_k = b.step;
            place_sums(&g, row, column, c, &tile);
            lead_strip(&g, strip, &tile);
            wide = 1;
            if (tall == 1) {
                if (tile.packed == NULL) {
                    gemm_set_ahead(gemm_next_ahead(&g.ahead_of_a, &g.ahead), &tile);
                }
                wide = strips_of_call(&g, strip, t == 0 && !packed, &tile);
                fovea_gemm_beside(&tile, wide);
            } else {
                fovea_gemm_below(&tile, tall);
            }
            if (plan->aside || (g.finishes && d->beta != 0)) {
                fetch_c(c, d->ldc, rows, d->gated ? tile.n / 2 : tile.n);
            }
            fovea_gemm_place_terms(area, &tile, tall != 1, row, column, &terms);
            plan->kernel->run(&tile);
            if (g.finishes) {
                const struct fovea_gemm_sums done = {.m = rows, .n = tile.n, .acc = tile.c, .acc_row = tile.c_row};
                fovea_gemm_finish(area, &done, c, row, column);
            }
        }
    }
}

void fovea_gemm_area(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const size_t row_end = area->row + area->rows, strip_last = area->strip + area->strips;
    for (size_t i = 0; i < plan->blocks.count; i++) {
        const size_t p = gemm_block_begin(plan, i), next = gemm_block_begin(plan, i + 1);
        struct gemm_block block = {area, p, next - p, i == 0, i + 1 == plan->blocks.count, 0};
        for (size_t row = area->row; row < row_end; row += area->chunk, block.chunk++) {
            const size_t rows = fovea_min(area->chunk, row_end - row);
            for (size_t group = area->strip, end; group < strip_last; group = end) {
                end = fovea_min(group + plan->group, strip_last);
                run_group(&block, row, rows, group, end);
            }
        }
    }
}
