// SPDX-License-Identifier: Apache-2.0
// ops/gemm_bn.c - the way of few rows over a natural B that comes from beyond L2: a few of its rows at a time.
//
// Strips of 48 columns go down all rows of B, three lines of each, which only prefetches find: 8 to 20 GB/s, least
// where rows are short. Whole rows side by side are streams, 17 to 23 GB/s: on Zen 4 one row of C 1.1 to 1.9 times as
// fast, two 1.1 to 1.8, four 1.0 to 1.55, six 1.2 to 1.6, seven and eight, for which C has to come from L2, 0.6 to 1.5.
// Sixteen rows of B at a time were slower for any (0.75 to 0.97), as were blocks of 512 or 1024 columns (0.75 to 0.95).
#include "ops/gemm.h"

// Rows of B that meet in few sets of L1, as rows of C do then: of more rows of C fewer of B at a time, so that a set of
// eight lines holds them all (4x1024x4096 1.22), of one or two still eight (1.03 to 1.08), unless hardware alone is to
// follow them (Zen 5, one row, ldb of 1024 to 4096: four rows of B 1.05 to 1.1 times as fast as eight; other ldb 0.9 to
// 0.97).
enum { WAYS = 8, ALIASING = 4, FEW = 2 };

bool fovea_gemm_takes_steps(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return !d->b_packed && d->trans_b != FOVEA_TRANS && plan->k != 0 && !plan->direct &&
           d->m <= plan->tuning->bn_rows && d->m <= plan->kernels->gemm_bn.mr &&
           (!plan->b_aliases || d->m <= WAYS - ALIASING);
}

// Rows are streams only where they are long: a strip for each worker rather than many short ones.
size_t fovea_gemm_step_panels(const struct fovea_gemm_layout *plan)
{
    enum { LEAST = 32 };
    const size_t even = fovea_ceil_div(fovea_ceil_div(plan->desc.n, FOVEA_PANEL), plan->kernels->workers);
    return even > LEAST ? even : LEAST;
}

// Half as many more as tiles have on their way: those of a row follow one another (Zen 5, three to six rows, 14 lines
// of each row ahead 0.95 to 1.0 of 17 to 24, 32 lines 0.9 to 1.05).
size_t fovea_gemm_step_lines(const struct fovea_gemm_layout *plan)
{
    return (size_t)plan->tuning->lead * 3 / 2;
}

void fovea_gemm_bn(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t begin = fovea_cut_begin(&plan->strips, area->strip) * FOVEA_PANEL;
    const size_t end = fovea_min(fovea_cut_begin(&plan->strips, area->strip + area->strips) * FOVEA_PANEL, d->n);
    const bool turned = d->trans_a == FOVEA_TRANS;
    const bool alone = area->rows <= plan->tuning->alone;
    const size_t steps = plan->b_aliases && (alone || area->rows > FEW) ? ALIASING : FOVEA_BN_STEPS;
    const size_t lines = fovea_gemm_step_lines(plan);
    struct fovea_gemm_bn_tile tile = {
        .m = area->rows,
        .n = end - begin,
        .a = area->a + area->row * (turned ? 1 : d->lda),
        .a_row = turned ? 1 : (ptrdiff_t)d->lda,
        .a_k = turned ? (ptrdiff_t)d->lda : 1,
        .b = (const float *)area->b + begin,
        .b_row = (ptrdiff_t)d->ldb,
        .c = area->c + area->row * d->ldc + begin,
        .c_row = (ptrdiff_t)d->ldc,
        .lead_columns = lines / FOVEA_BN_STEPS * FOVEA_PANEL,
    };
    for (size_t p = 0; p < plan->k; p += tile.k) {
        tile.k = fovea_min(steps, plan->k - p);
        tile.adds = p != 0;
        const float *const next = tile.b + (p + tile.k < plan->k ? (ptrdiff_t)tile.k * tile.b_row : 0);
        tile.ahead = alone ? NULL : next;
        plan->kernels->gemm_bn.run(&tile);
        tile.a += (ptrdiff_t)tile.k * tile.a_k;
        tile.b = next;
    }
    const struct fovea_gemm_tile done = {.m = tile.m, .n = tile.n, .c = tile.c, .c_row = tile.c_row};
    fovea_gemm_finish(area, &done, tile.c, area->row, begin);
}
