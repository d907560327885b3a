// SPDX-License-Identifier: Apache-2.0
// ops/gemm_bare.c - direct plans that consist of tiles only: B is read as it is, and C receives the sums.
//
// The decisions and arguments of gemm.c and gemm_direct.c take 30 ns per call on Zen 4, those of a 32 cube 600. A bare
// plan knows all of it except the addresses. An out-of-order core hides some instructions between the last FMAs of a
// call and the first ones of the next: there are 140 of them, in fovea_gemm, here and in the micro-kernel
// (docs/measurements/zen4.md, "Overhead of a call").
#include "ops/gemm_ways.h"
#include "ops/pack.h"

// With a small micro-kernel and a natural B the last strip, if it is not the first one, begins so far before the end of
// C that it consists of whole halves of a panel. What is computed twice has the same bits (AVX2, whose edges go through
// a buffer, Zen 4: 17 cube 1.37 times as fast, 33 1.2, 47 1.2, 97 and 100 1.02).
enum { HALF = FOVEA_PANEL / 2 };

// If C has fewer columns than a panel, several final rows of B would be read past the end. Micro-kernels without masks
// copy these in each tile, or, for half a panel, in two tiles at once. So they only do it for a single tile (AVX2,
// Emerald Rapids: 6x8x512 1.6 times as fast as packed on the fly, 8 cubes 1.7, 12x5x40 1.17; with more tiles, 12 cubes
// 0.85, 24 to 100 rows 0.7 to 0.9).
bool fovea_gemm_whole_panels(const struct fovea_gemm_layout *plan, size_t end)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool copies = plan->kernel->masks == 0 && d->n < FOVEA_PANEL;
    const size_t rows = d->n <= HALF ? 2 * plan->kernel->mr : plan->kernel->mr;
    return end % FOVEA_PANEL == 0 || (d->ldb == d->n && !(copies && d->m > rows));
}

size_t fovea_gemm_ends(const struct fovea_gemm_layout *plan, size_t end)
{
    const size_t past = fovea_round_up(end, FOVEA_PANEL) - end;
    return past == 0 || plan->k == 0 ? 0 : fovea_min(fovea_ceil_div(past, plan->desc.ldb), plan->k);
}

struct fovea_gemm_tile fovea_gemm_direct_tile(const struct fovea_gemm_layout *plan, bool natural)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_gemm_a a = fovea_gemm_a_of(d, NULL);
    return (struct fovea_gemm_tile){
        .k = plan->k,
        .a_row = a.row,
        .a_k = a.k,
        .b_panel = natural ? FOVEA_PANEL : (ptrdiff_t)(FOVEA_PANEL * plan->k),
        .b_k = natural ? (ptrdiff_t)d->ldb : FOVEA_PANEL,
        .c_row = (ptrdiff_t)d->ldc,
        .mode = FOVEA_GEMM_STORE,
        .near = 1,
        .ahead_step = FOVEA_PANEL,
    };
}

bool fovea_gemm_is_bare(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool in_place = !plan->grid.pack_b && (plan->edge != 0 || fovea_gemm_whole_panels(plan, d->n));
    return plan->way == FOVEA_WAY_DIRECT && !plan->along && (d->b_packed || in_place) &&
           fovea_gemm_way_of(plan, d->m) == plan->way && !plan->detour && d->alpha == 1 &&
           d->activation == FOVEA_ACTIVATION_NONE && !plan->fetches_next;
}

// How many columns of the last strip, which begins at `begin`, overlap the strip before it.
static size_t last_back(const struct fovea_gemm_layout *plan, size_t begin)
{
    const bool halves = !plan->desc.b_packed && begin != 0 && plan->edge == 0 && fovea_gemm_is_small(plan->kernel);
    return halves && begin < plan->desc.n ? fovea_round_up(plan->desc.n - begin, HALF) - (plan->desc.n - begin) : 0;
}

struct fovea_gemm_last fovea_gemm_last_of(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t begin = plan->strips.count != 0 ? fovea_gemm_strip_begin(plan, plan->strips.count - 1) : 0;
    struct fovea_gemm_last last = {fovea_gemm_direct_tile(plan, !d->b_packed), last_back(plan, begin)};
    last.tile.n = (begin < d->n ? d->n - begin : 0) + last.back;
    last.tile.b_ends = d->b_packed ? 0 : fovea_gemm_ends(plan, last.tile.n);
    last.tile.m = plan->tiles.size;
    fovea_gemm_below(&last.tile, plan->tiles.count - plan->tiles.longer);
    return last;
}

// Computes all rows of C in the columns of a tile, whose A, B and C are those of its first row. The tile is one of the
// shorter ones.
static void run_strip(const struct fovea_gemm_layout *plan, struct fovea_gemm_tile *tile)
{
    const size_t longer = plan->tiles.longer;
    if (longer != 0) {
        tile->m++;
        fovea_gemm_below(tile, longer);
        plan->kernel->run(tile);
        tile->a += (ptrdiff_t)longer * tile->a_next;
        tile->c += (ptrdiff_t)longer * tile->c_next;
        tile->m--;
        fovea_gemm_below(tile, plan->tiles.count - longer);
    }
    plan->kernel->run(tile);
}

static void run_entry(const struct fovea_gemm_layout *plan, const float *a, const void *b, float *c)
{
    const struct fovea_gemm_last *const last = &plan->last;
    struct fovea_gemm_tile tile = last->tile;
    tile.b = plan->desc.b_packed ? fovea_blob_panels(b) : b;
    if (plan->strips.count > 1) {
        tile.b_ends = 0;
        for (size_t strip = 0; strip + 1 < plan->strips.count; strip++) {
            const size_t panels = fovea_cut_length(&plan->strips, strip);
            tile.n = panels * FOVEA_PANEL;
            tile.a = a;
            tile.c = c;
            run_strip(plan, &tile);
            tile.b += (ptrdiff_t)panels * tile.b_panel;
            c += tile.n;
        }
        tile.n = last->tile.n;
        tile.b_ends = last->tile.b_ends;
        tile.b -= last->back;
        c -= last->back;
    }
    tile.a = a;
    tile.c = c;
    if (plan->edge == 0) {
        run_strip(plan, &tile);
    } else {
        tile.m = plan->desc.m;
        fovea_gemm_run_edge(plan, &tile);
    }
}

void fovea_gemm_bare(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const float *a = args->a, *b = args->b;
    float *c = args->c;
    for (size_t left = d->batch;;) { // a direct plan has at least one
        run_entry(plan, a, b, c);
        if (--left == 0) {
            break;
        }
        a += d->batch_a;
        b += d->batch_b;
        c += d->batch_c;
    }
}
