// SPDX-License-Identifier: Apache-2.0
// ops/gemm_fit.c - chooses the tiles of a small product, those of least cost, how its rows are cut into them, and
// whether the last columns are separate.
#include "ops/gemm_ways.h"

// Limits for up to chain_rows rows. Three panels of these are fewer chains of FMAs than a core can have in flight, so
// tiles of four are faster if that saves a strip. CHAIN_KIB: KiB of B up to which L2 is not the limit. chain_columns:
// most columns (Zen 5, one to five rows of 64 columns 1.05 to 1.5 times as fast, of 100 1.03 to 1.18, packed, of 128
// and 200, 1.02 to 1.2; natural 0.96 to 1.04 there, 256 KiB 0.96 to 1.03; six rows 0.97 to 1.0; transposed, which is
// packed first, of 64 columns 1.03 to 1.35, of 112 0.90 to 0.97).
enum { CHAIN_KIB = 128 };
static const size_t chain_columns[] = {
    [FOVEA_FORM_PACKED] = SIZE_MAX, [FOVEA_FORM_NN] = 7 * FOVEA_PANEL, [FOVEA_FORM_NT] = 4 * FOVEA_PANEL};

// When the last columns are computed separately: least rows and steps, and the most rows of a tile, which must not
// alias in a set of L1, since each of their lines is read four times (Zen 4, 64x50x512 0.91, 128x20x768 0.95).
static const struct edge {
    size_t rows, steps, tile;
} edges[] = {
    // Up to four columns. Zen 4, 24 rows and more 1.00 to 1.11 times as fast (transposed 0.97 to 1.10), 12 to 20 rows
    // 0.94 to 1.05 (transposed 0.84 to 1.01). Not measured elsewhere, nor with fewer steps.
    {24, 32, FOVEA_EDGE_ROWS},
    // Up to eight. Zen 5, 48 steps, eight rows of 40 to 104 columns 1.01 to 1.04, six of 38 0.98; 128 rows of eight
    // columns alone, 768 steps, 1.43.
    {8, 48, 16},
};

size_t fovea_gemm_edge(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t n = d->n % FOVEA_PANEL;
    const struct edge *const edge = &edges[n > FOVEA_PANEL / 4];
    const bool pays = n <= plan->tuning->edge_columns && d->m >= edge->rows && plan->k >= edge->steps &&
                      d->m > plan->once_rows && !fovea_is_left_scalar(plan->kernels->gemm_edge.required, plan->kernel);
    return pays && d->trans_a != FOVEA_TRANS && !fovea_gemm_rows_alias(d->lda, fovea_min(d->m, edge->tile)) ? n : 0;
}

// Cost of the tiles of C, in instructions per k step: an fma per row and panel, a broadcast per row and strip, a load
// per panel and tile, and a loop per tile of a strip, with what comes before and after it.
static double cost(const struct fovea_gemm_layout *plan, const struct fovea_gemm_kernel *kernel)
{
    enum { LOOP = 5, AROUND = 100 };
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t panels = fovea_gemm_panels(d->n - plan->edge);
    const double m = (double)d->m, p = (double)panels, tiles = (double)fovea_ceil_div(d->m, kernel->mr),
                 strips = (double)fovea_ceil_div(panels, kernel->nr / FOVEA_PANEL);
    return m * p + m * strips + p * tiles + (LOOP + AROUND / (double)d->k) * strips * tiles;
}

// Of the tiles that take the few rows of a small product at once, the one with fewest strips.
static const struct fovea_gemm_kernel *with_chains(const struct fovea_gemm_layout *plan)
{
    const struct fovea_kernels *const kernels = plan->kernels;
    const struct fovea_gemm_kernel *best = plan->kernel;
    const size_t panels = fovea_gemm_panels(plan->desc.n);
    for (uint32_t i = 0; i < kernels->gemm_tile_count; i++) {
        const struct fovea_gemm_kernel *const other = &kernels->gemm_tiles[i];
        if (plan->desc.m <= other->mr && !fovea_gemm_is_thin(other) && !fovea_is_tall(other->mr, other->nr) &&
            fovea_ceil_div(panels, other->nr / FOVEA_PANEL) < fovea_ceil_div(panels, best->nr / FOVEA_PANEL)) {
            best = other;
        }
    }
    return best;
}

static bool wants_chains(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return d->m <= plan->tuning->chain_rows && d->n <= chain_columns[fovea_gemm_form_of(d)] &&
           !fovea_is_far(CHAIN_KIB, (double)plan->k * (double)d->n);
}

// Whether tiles made for few rows suit a C with few columns, no more than they are wide: they are fewer and larger
// tiles than others that cover these columns (Granite Rapids, up to 32 columns, 12x32 in place of 9x48 1.01 to 1.06
// times as fast, up to 16 columns 16x16 1.02 to 1.09, of 12 rows 1.2; elsewhere fewer instructions, too, not measured).
// Not with 16 rows that alias in few sets of L1 (4096x16x1024 0.93), not flat tiles (2x48), and not if tiles of
// one panel would read B in another way.
static bool is_narrow(const struct fovea_gemm_layout *plan, const struct fovea_gemm_kernel *kernel)
{
    enum { FLAT_ROWS = 2 };
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool aliases = d->trans_a != FOVEA_TRANS && fovea_gemm_rows_alias(d->lda, fovea_min(d->m, kernel->mr));
    const bool same =
        fovea_gemm_form_of(d) != FOVEA_FORM_NN || fovea_gemm_reads_rows(plan, fovea_gemm_is_small(kernel)) ==
                                                      fovea_gemm_reads_rows(plan, fovea_gemm_is_small(plan->kernel));
    return kernel->mr > FLAT_ROWS && d->n - plan->edge <= kernel->nr && !aliases && same;
}

// Whether `pairs` lets small tiles of two panels, which are not the class's, take a product from those of one panel.
// Not with three panels, of which one is left over (Zen 3, 20x48x256 0.93 to 0.98), nor with rows of B that begin
// within cache lines: these tiles have more loads, each of which is two then (100 cube 0.96, which packed is 1.03).
static bool pairs_up(const struct fovea_gemm_layout *plan)
{
    enum { LEFT_OVER = 3 };
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool rows = fovea_gemm_form_of(d) == FOVEA_FORM_NN && fovea_gemm_in_place(plan);
    return plan->tuning->pairs != 0 && fovea_gemm_panels(d->n - plan->edge) != LEFT_OVER &&
           !(rows && fovea_splits_lines(d->ldb));
}

const struct fovea_gemm_kernel *fovea_gemm_fitting(const struct fovea_gemm_layout *plan)
{
    const struct fovea_kernels *const kernels = plan->kernels;
    const struct fovea_gemm_kernel *best = plan->kernel;
    if (wants_chains(plan)) {
        return with_chains(plan);
    }
    for (uint32_t i = 0; i < kernels->gemm_tile_count; i++) {
        const struct fovea_gemm_kernel *const other = &kernels->gemm_tiles[i];
        const bool few = fovea_gemm_is_thin(other) || fovea_is_tall(other->mr, other->nr);
        if (few && !is_narrow(plan, other)) {
            continue; // tiles for few rows are chosen by plans for few rows
        }
        const bool pair = fovea_gemm_is_small(other) && other->nr > FOVEA_PANEL && other != plan->kernel;
        if (pair && !pairs_up(plan)) {
            continue;
        }
        if (!few && plan->desc.m <= other->mr) {
            return plan->kernel; // one tile high: keeps the choice of its class
        }
        best = cost(plan, other) < cost(plan, best) ? other : best;
    }
    return best;
}

// Tiles of equal size, if a few more of them have that: each other size is one more call of the micro-kernel, with
// other code. Zen 4, 32x32x32 by four of eight rows rather than two of 11 and one of ten 1.03 times as fast, 64x32x32
// by eight of eight 1.03, 20x48x48 by four of five 1.02, 35x32x32 by five of seven 1.02 to 1.04, 25x80x64 by five of
// five, of two panels in some strips, 1.02; from 64x64x64 on no difference. Not with fewer sums, in panels, than keep
// the FMAs of all machines busy: only tiles of AVX-512 have as many.
struct fovea_cut fovea_gemm_cut_rows(const struct fovea_gemm_layout *plan)
{
    enum { MORE = 2, SUMS = 10 };
    const size_t m = plan->desc.m;
    const struct fovea_cut cut = fovea_cut(m, plan->mr);
    for (size_t count = cut.count; plan->way == FOVEA_WAY_DIRECT && count <= cut.count + MORE; count++) {
        if (m % count == 0 && m / count * plan->strips.size >= SUMS) {
            return fovea_pieces(m, count);
        }
    }
    return cut;
}
