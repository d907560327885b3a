// SPDX-License-Identifier: Apache-2.0
// ops/gemm_direct.c - small products, without blocks: strip by strip, one loop over the tiles of C; or, if only B is
// small, along the rows of C.
//
// This way is taken in three cases. All three matrices are in L2, or mostly (direct_of_l2 of dispatch/beyond.def). They
// are many times that, but B is packed: k is one block, so a strip of it stays in L2 while all tiles are computed, and
// the L3 of Zen 5 delivers the rest nearly as fast (direct_packed). Or B is in L2, and the rows of A and C are streamed
// once, in the order that hardware prefetchers expect (along_eighths). So there are no blocks, at most the next strip
// is prefetched, and A is read in place. The per-tile decisions of gemm_area.c cost 150 cycles, while a tile of a 64
// cube has 770 cycles of FMAs; cubes of 150 to 320 are 1.04 to 1.09 times as fast this way on Zen 5.
#include "ops/gemm_tasks.h"
#include "ops/gemm_ways.h"
#include "ops/pack.h"

// Largest k for which C is written along its rows, if it has at least this many columns (Zen 4, 8 to 128 steps, 512 to
// 2300 columns: 0.98 to 1.06 times as fast if all of it is in L2, 1.05 to 2.2 if not; 256 columns 0.96 to 0.99 and 1.0
// to 1.2).
enum { ALONG_STEPS = 128, ALONG_COLUMNS = 512 };
// Largest number of rows for which wide tiles treat a B of more than half of L2 as weights that come from beyond it
// (Zen 4, 40 to 128 rows, B of 480 to 590 KiB: 1.05 to 1.33 times as fast from memory, 0.98 to 1.0 if all of it is in
// L2; of 256 to 360 KiB 0.94 to 0.98; tiles of 16 columns 0.94 to 1.14 and 0.97 to 1.0), unless it is packed: the
// hardware prefetcher follows that (an encoder of 64 and 128 tokens 0.99 to 1.0).
enum { WEIGHTS_ROWS = 128 };
// Smallest number of rows for which small tiles read a panel so often that it should stay in L1, and number of its
// steps that are checked.
enum { AGAIN_ROWS = 96, AGAIN_STEPS = 128 };

// Whether strided rows together span at most half of what the operands may take. They are then read in place, at worst
// from L2 or an L3 that is nearly as fast.
static bool near(const struct fovea_gemm_layout *plan, size_t rows, size_t ld)
{
    return !fovea_is_far(plan->tuning->direct, 2.0 * (double)rows * (double)ld);
}

// Whether rows of a natural B are read in place. Loads that cross cache lines cost less than packing even for many rows
// of C: 60 rows 1.10 times as fast on Zen 5, 100 rows 1.06, 300 rows 1.02 (Zen 4, 100 rows: 1.04). Exceptions: on
// Cascade Lake such a load occupies a port for two cycles, and panels longer than L1 are not prefetched (split_rows),
// unless all of B is in L1 (split_kib). Rows that alias in few sets of L1 are read in place only by wide tiles, a few
// lines of each at a time (ldb of 512 and 1024, 40 to 200 rows: 0.98 to 1.22; by the small tiles of AVX2 0.5 to 0.95).
// Nor do small tiles that read a panel many times read it in place if its rows alias (AVX2 on Zen 4, packed in place of
// in place: ldb of 64 to 256, 128 to 256 rows 1.02 to 1.12; 64 rows 0.98 to 1.0, 32 0.95).
bool fovea_gemm_reads_rows(const struct fovea_gemm_layout *plan, bool small)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool broken = fovea_splits_lines(d->ldb);
    const bool again = d->m >= AGAIN_ROWS && fovea_gemm_rows_alias(d->ldb, fovea_min(plan->k, AGAIN_STEPS));
    const bool packs = broken && d->m >= plan->tuning->split_rows &&
                       fovea_is_far(plan->tuning->split_kib, (double)plan->k * (double)d->n);
    return !packs && near(plan, plan->k, d->ldb) && (!small || !(plan->b_aliases || again));
}

// Whether the lines of a transposed A, and likewise of a natural B, each fill all ways of their sets of L2 (16 ways),
// so that a strip of B and a tile's lines of A evict one another: 512 cubes 0.71 to 0.95 of the peak, depending on
// their addresses, 0.94 copied; 384 of 512 steps, or columns, 0.96 to 1.0 in place.
static bool alias_in_l2(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return fovea_gemm_form_of(d) == FOVEA_FORM_NN && fovea_l2_taken(plan->k, d->lda) >= FOVEA_L2 &&
           fovea_l2_taken(plan->k, d->ldb) >= FOVEA_L2;
}

static bool reads_rows(const struct fovea_gemm_layout *plan)
{
    return fovea_gemm_reads_rows(plan, fovea_gemm_is_small(plan->kernel));
}

// True if the product reads B in place, or from a prepacked blob.
static bool reads_b(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return d->b_packed || (d->trans_b != FOVEA_TRANS && reads_rows(plan));
}

static bool exceeds(const struct fovea_gemm_layout *plan)
{
    const double m = (double)plan->desc.m, n = (double)plan->desc.n, k = (double)plan->k;
    return fovea_is_far(plan->tuning->direct, m * k + k * n + m * n);
}

// B stays in L2 and the other operands exceed it: a 512 cube, natural, 1.07 times as fast as packed in blocks, tile
// below tile 1.04 (Granite Rapids).
bool fovea_gemm_passes_b(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return exceeds(plan) && !fovea_is_far(plan->tuning->along, (double)plan->k * (double)d->n) &&
           d->trans_a != FOVEA_TRANS && (plan->terms || !plan->detour) && reads_b(plan);
}

static bool short_and_wide(const struct fovea_gemm_layout *plan)
{
    return plan->k <= ALONG_STEPS && plan->desc.n >= ALONG_COLUMNS;
}

bool fovea_gemm_in_place(const struct fovea_gemm_layout *plan)
{
    return plan->way == FOVEA_WAY_DIRECT && reads_rows(plan);
}

bool fovea_gemm_is_direct(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const double n = (double)d->n, k = (double)plan->k;
    if (plan->k == 0 || d->m == 0 || d->n == 0 || d->batch == 0 || plan->blocks.count != 1 ||
        (exceeds(plan) && !fovea_gemm_passes_b(plan)) ||
        (d->trans_a == FOVEA_TRANS ? !near(plan, d->k, d->lda) || alias_in_l2(plan) : plan->aliases)) {
        return false;
    }
    // Not direct: few rows over a far B, which they read from memory as weights are, and some more rows over a B of
    // more than half of what stays in L2. Nor a B that would be packed by several tasks of many rows, all of which read
    // all of it: it is packed beforehand, for all.
    const uint32_t near_kib = fovea_near_of(&plan->kernels->tuning, d->m, fovea_gemm_form_of(d));
    const bool several = d->m <= FOVEA_SEVERAL_ROWS;
    const bool some = d->m <= WEIGHTS_ROWS && !d->b_packed && !fovea_gemm_is_small(plan->kernel);
    const bool far = (several || some) && fovea_is_far(several ? near_kib : near_kib / 2, n * k);
    const bool packs = !reads_b(plan);
    const bool shares = packs && d->batch == 1 && d->m > FOVEA_KEEP_ROWS && !fovea_gemm_whole(plan, d->m);
    const bool along = packs && short_and_wide(plan); // gemm_area.c does this, too
    return !far && !shares && !along;
}

void fovea_gemm_run_edge(const struct fovea_gemm_layout *plan, const struct fovea_gemm_tile *tile)
{
    plan->kernels->gemm_edge.run(&(struct fovea_gemm_edge_tile){.m = tile->m,
                                                                .n = tile->n,
                                                                .k = tile->k,
                                                                .a = tile->a,
                                                                .a_row = tile->a_row,
                                                                .b = tile->b,
                                                                .b_k = tile->b_k,
                                                                .c = tile->c,
                                                                .c_row = tile->c_row});
}

// Sets B of columns [begin, end), in whole panels: in place, or a copy made for this strip.
static void set_b(const struct fovea_gemm_area *area, bool natural, size_t begin, size_t end,
                  struct fovea_gemm_tile *tile)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    if (natural && (plan->edge != 0 || fovea_gemm_whole_panels(plan, end))) {
        tile->b_ends = fovea_gemm_ends(plan, end);
        tile->b = (const float *)area->b + begin;
    } else if (d->b_packed) {
        tile->b = fovea_blob_panels(area->b) + begin * plan->k;
    } else {
        const struct fovea_source source = fovea_source_of(d, area->b);
        fovea_pack_panels(plan->kernels, &source, 0, begin, plan->k, end - begin, area->b_room);
        tile->b = area->b_room;
        tile->b_panel = (ptrdiff_t)(FOVEA_PANEL * plan->k);
        tile->b_k = FOVEA_PANEL;
    }
}

bool fovea_gemm_is_along(const struct fovea_gemm_layout *plan)
{
    return plan->way == FOVEA_WAY_DIRECT && reads_b(plan) && (plan->passes || (plan->terms && short_and_wide(plan)));
}

// A packed B from beyond L2 comes while the first tiles of the strip before it are computed, a panel with each; nothing
// else would prefetch it but the hardware, when the first tile reads it. Zen 5 whose page tables are slow to walk, B
// from memory, 48 and 64 rows 1.02 to 1.14 times as fast, 100 and 128 rows 1.01 to 1.07, 256 rows 1.00 to 1.03; the
// same B at each call, from L3, 0.98 to 1.00.
bool fovea_gemm_direct_ahead(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return plan->way == FOVEA_WAY_DIRECT && !plan->along && d->b_packed && plan->kernel->ahead &&
           plan->strips.count > 1 && plan->tiles.count > fovea_cut_longest(&plan->strips) &&
           fovea_gemm_far(&plan->kernels->tuning, d->m, d->n, plan->k, FOVEA_FORM_PACKED);
}

// The number of tiles of a strip that prefetch the next one, as many as that has panels.
static size_t fetching_tiles(const struct fovea_gemm_area *area, size_t strip)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    if (strip + 1 >= area->strip + area->strips || !plan->fetches_next) {
        return 0;
    }
    return fovea_cut_length(&plan->strips, strip + 1);
}

// Computes C along its rows, all strips except a last one that ends within a panel. Returns the first remaining strip.
static size_t run_along(const struct fovea_gemm_area *area, const struct fovea_cut *tiles, struct fovea_gemm_tile tile)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const size_t end = area->strip + area->strips -
                       (area->strip + area->strips == plan->strips.count && plan->desc.n % FOVEA_PANEL != 0);
    const float *const b = plan->desc.b_packed ? fovea_blob_panels(area->b) : area->b;
    const bool in_tiles = fovea_gemm_finishes_in_tiles(area);
    struct fovea_gemm_terms terms = fovea_gemm_terms(plan);
    tile.terms = in_tiles ? &terms : NULL;
    for (size_t t = 0, row = area->row; t < tiles->count && area->strip < end; t++, row += tile.m) {
        tile.m = fovea_cut_length(tiles, t);
        tile.a = area->a + (ptrdiff_t)row * tile.a_row;
        for (size_t strip = area->strip, wide; strip < end; strip += wide) {
            const size_t column = fovea_gemm_strip_begin(plan, strip);
            tile.n = fovea_cut_length(&plan->strips, strip) * FOVEA_PANEL;
            tile.b = b + (ptrdiff_t)(column / FOVEA_PANEL) * tile.b_panel;
            tile.c = area->c + row * plan->desc.ldc + column;
            wide = fovea_gemm_strips_alike(plan, strip, end);
            fovea_gemm_beside(&tile, wide);
            fovea_gemm_place_terms(area, &tile, false, row, column, &terms);
            plan->kernel->run(&tile);
        }
        if (in_tiles) {
            continue;
        }
        const size_t first = fovea_gemm_strip_begin(plan, area->strip);
        float *const c = area->c + row * plan->desc.ldc + first;
        const size_t n = fovea_gemm_strip_begin(plan, end) - first;
        const struct fovea_gemm_sums done = {.m = tile.m, .n = n, .acc = c, .acc_row = tile.c_row};
        fovea_gemm_finish(area, &done, c, row, first);
    }
    return end;
}

// The edge: all rows by one call or, with an epilogue, as many as stay in L1 until that, or as acc has room for.
static void run_edge(const struct fovea_gemm_area *area, struct fovea_gemm_tile tile, size_t begin, bool finishes,
                     bool in_c)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t most = !finishes ? area->rows : in_c ? FOVEA_EDGE_ROWS : FOVEA_HOT_TILES * plan->mr;
    for (size_t i = 0; i < area->rows; i += tile.m) {
        const size_t row = area->row + i;
        float *const c = area->c + row * d->ldc + (d->gated ? begin / 2 : begin);
        tile.m = fovea_min(most, area->rows - i);
        tile.a = area->a + (ptrdiff_t)row * tile.a_row;
        tile.c = in_c ? c : area->acc;
        fovea_gemm_run_edge(plan, &tile);
        if (finishes) {
            const struct fovea_gemm_sums done = {.m = tile.m, .n = tile.n, .acc = tile.c, .acc_row = tile.c_row};
            fovea_gemm_finish(area, &done, c, row, begin);
        }
    }
}

void fovea_gemm_direct(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_cut tiles = area->rows == d->m ? plan->tiles : fovea_cut(area->rows, plan->mr);
    const bool natural = !d->b_packed && !area->pack_b;
    const bool finishes = fovea_gemm_finishes(area), in_tiles = fovea_gemm_finishes_in_tiles(area);
    struct fovea_gemm_tile tile = fovea_gemm_direct_tile(plan, natural);
    struct fovea_gemm_terms terms = fovea_gemm_terms(plan);
    // Otherwise a strip gets its epilogue while it is in L1.
    const bool along = plan->along && (!finishes || in_tiles || plan->passes);
    for (size_t strip = along ? run_along(area, &tiles, tile) : area->strip; strip < area->strip + area->strips;
         strip++) {
        const size_t begin = fovea_gemm_strip_begin(plan, strip), end = fovea_gemm_strip_end(plan, strip);
        const bool edge = plan->edge != 0 && strip + 1 == plan->strips.count; // has a kernel of its own
        const bool after = finishes && (edge || !in_tiles);
        const bool in_c = area->acc == NULL || !after;
        set_b(area, natural, begin, end, &tile);
        tile.n = end - begin;
        tile.terms = in_tiles ? &terms : NULL;
        tile.c_row = (ptrdiff_t)(in_c ? d->ldc : fovea_gemm_columns(plan));
        if (edge) {
            run_edge(area, tile, begin, after, in_c);
            continue;
        }
        const size_t fetching = fetching_tiles(area, strip);
        const float *const next = fetching != 0 ? tile.b + (ptrdiff_t)(end - begin) / FOVEA_PANEL * tile.b_panel : NULL;
        for (size_t t = 0, row = area->row, rows; t < tiles.count; t += tile.more + 1, row += rows) {
            float *const c = area->c + row * d->ldc + (d->gated ? begin / 2 : begin);
            const size_t alike = fovea_cut_alike(&tiles, t);
            const size_t same = t < fetching ? 1 : alike;
            tile.m = fovea_cut_length(&tiles, t);
            tile.ahead = t < fetching ? next + (ptrdiff_t)t * tile.b_panel : NULL;
            fovea_gemm_below(&tile, after ? fovea_min(FOVEA_HOT_TILES, same) : same);
            rows = tile.m * (tile.more + 1);
            tile.a = area->a + (ptrdiff_t)row * tile.a_row;
            tile.c = in_c ? c : area->acc;
            fovea_gemm_place_terms(area, &tile, true, row, begin, &terms);
            plan->kernel->run(&tile);
            if (after) {
                const struct fovea_gemm_sums done = {.m = rows, .n = tile.n, .acc = tile.c, .acc_row = tile.c_row};
                fovea_gemm_finish(area, &done, c, row, begin);
            }
        }
    }
}
