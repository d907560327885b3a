// SPDX-License-Identifier: Apache-2.0
// ops/gemm_bn.c - the way of few rows over a natural B that comes from beyond L2: a few of its rows at a time.
//
// Strips of 48 columns go down all rows of B, three lines of each, which only prefetches find: 8 to 20 GB/s, least
// where rows are short. Whole rows side by side are streams, 17 to 23 GB/s: on Zen 4 one row of C 1.1 to 1.9 times as
// fast, two 1.1 to 1.8, four 1.0 to 1.55, six 1.2 to 1.6, seven and eight, for which C has to come from L2, 0.6 to 1.5.
// Sixteen rows of B at a time were slower for these (0.75 to 0.97), as were blocks of 512 or 1024 columns (0.75 to
// 0.95). Nine rows of C and more take as many, as C passes from L2 and back each time; where they are more than sums
// have registers they pass one part after another, B from L2 then: up to 3.4
// times as fast as strips on a mesh (docs/measurements/granite-rapids.md).
#include "ops/gemm.h"

enum { EIGHT = FOVEA_BN_STEPS / 2, FOUR = EIGHT / 2 };

// Rows of B at a time. Of those that meet in few sets of L1, as rows of C do then, four for three and four rows of C, so
// that a set of eight lines holds them all (4x1024x4096 1.22), for one or two still eight (1.03 to 1.08), unless
// hardware alone is to follow them (Zen 5, one row, ldb of 1024 to 4096: four rows of B 1.05 to 1.1 times as fast as
// eight; other ldb 0.9 to 0.97).
static size_t rows_at_a_time(const struct fovea_gemm_layout *plan, size_t rows, bool alone)
{
    enum { FEW = 2 };
    const bool fits = plan->b_aliases && rows <= FOUR && (alone || rows > FEW);
    return fits ? FOUR : rows <= EIGHT ? EIGHT : FOVEA_BN_STEPS;
}

// Rows that take several passes leave C in L2 beside B's rows.
bool fovea_gemm_takes_steps(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool fits = !fovea_is_far(plan->kernels->tuning.cache.near, (double)d->m * (double)d->n);
    return !d->b_packed && d->trans_b != FOVEA_TRANS && plan->k != 0 && !plan->direct &&
           d->m <= (plan->b_aliases ? plan->tuning->bn_alias : plan->tuning->bn_rows) &&
           (d->m <= plan->kernels->gemm_bn.mr || fits);
}

// Rows are streams only where they are long: a strip for each worker rather than many short ones, but for so many rows
// of C that many workers have something to compute.
size_t fovea_gemm_step_panels(const struct fovea_gemm_layout *plan)
{
    const size_t least = plan->desc.m <= FOVEA_BN_STEPS ? 32 : 8;
    const size_t even = fovea_ceil_div(fovea_ceil_div(plan->desc.n, FOVEA_PANEL), plan->kernels->workers);
    return even > least ? even : least;
}

// Of all rows together, half as many more as tiles have on their way: those of a row follow one another (Zen 5, three
// to six rows, 14 lines of each row ahead 0.95 to 1.0 of 17 to 24, 32 lines 0.9 to 1.05).
size_t fovea_gemm_step_lines(const struct fovea_gemm_layout *plan)
{
    return (size_t)plan->tuning->lead * 3 / 2;
}

// Columns [begin, end), whose sums go to c.
static void run_columns(const struct fovea_gemm_area *area, size_t begin, size_t end, float *c, ptrdiff_t c_row)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool turned = d->trans_a == FOVEA_TRANS;
    const bool alone = area->rows <= plan->tuning->alone;
    const size_t steps = rows_at_a_time(plan, area->rows, alone);
    const struct fovea_cut parts = fovea_cut(area->rows, plan->kernels->gemm_bn.mr);
    const float *a = area->a + area->row * (turned ? 1 : d->lda);
    struct fovea_gemm_bn_tile tile = {
        .n = end - begin,
        .a_row = turned ? 1 : (ptrdiff_t)d->lda,
        .a_k = turned ? (ptrdiff_t)d->lda : 1,
        .b = (const float *)area->b + begin,
        .b_row = (ptrdiff_t)d->ldb,
        .c_row = c_row,
        .lead_columns = fovea_gemm_step_lines(plan) / (steps > EIGHT ? steps : EIGHT) * FOVEA_PANEL,
    };
    for (size_t p = 0; p < plan->k; p += tile.k, a += (ptrdiff_t)tile.k * tile.a_k) {
        tile.k = fovea_min(steps, plan->k - p);
        tile.adds = p != 0;
        const float *const next = tile.b + (p + tile.k < plan->k ? (ptrdiff_t)tile.k * tile.b_row : 0);
        tile.ahead = alone ? NULL : next;
        for (size_t part = 0, row = 0; part < parts.count; part++, row += tile.m) {
            tile.m = parts.size + (part < parts.longer);
            tile.a = a + (ptrdiff_t)row * tile.a_row;
            tile.c = c + (ptrdiff_t)row * tile.c_row;
            plan->kernels->gemm_bn.run(&tile);
            tile.ahead = NULL; // the first part has asked for what comes next
        }
        tile.b = next;
    }
}

void fovea_gemm_bn(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t last = area->strip + area->strips, apart = area->acc != NULL ? 1 : area->strips;
    for (size_t strip = area->strip; strip < last; strip += apart) { // acc has room for one
        const size_t begin = fovea_cut_begin(&plan->strips, strip) * FOVEA_PANEL;
        const size_t end = fovea_min(fovea_cut_begin(&plan->strips, strip + apart) * FOVEA_PANEL, d->n);
        float *const c = area->c + area->row * d->ldc + (d->gated ? begin / 2 : begin);
        float *const sums = area->acc != NULL ? area->acc : c;
        const ptrdiff_t row = area->acc != NULL ? (ptrdiff_t)fovea_gemm_columns(plan) : (ptrdiff_t)d->ldc;
        run_columns(area, begin, end, sums, row);
        const struct fovea_gemm_tile done = {.m = area->rows, .n = end - begin, .c = sums, .c_row = row};
        fovea_gemm_finish(area, &done, c, area->row, begin);
    }
}
