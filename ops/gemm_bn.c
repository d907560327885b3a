// SPDX-License-Identifier: Apache-2.0
// ops/gemm_bn.c - few rows over a natural B that comes from beyond L2: a few rows of B at a time.
//
// Strips of 48 columns go down all rows of B and read three lines of each, which only software prefetches can fetch
// ahead: 8 to 20 GB/s, least if rows are short. Whole rows side by side are streams, 17 to 23 GB/s: on Zen 4 one row of
// C 1.1 to 1.9 times as fast, two 1.1 to 1.8, four 1.0 to 1.55, six 1.2 to 1.6, seven and eight, whose C has to come
// from L2, 0.6 to 1.5. Sixteen rows of B at a time were slower for these (0.75 to 0.97), as were blocks of 512 or 1024
// columns (0.75 to 0.95). Nine rows of C and more use sixteen, because C moves from L2 and back each time. More rows
// than there are registers for sums are computed tile after tile, the later ones with B from L2: up to 3.4 times as
// fast as strips on a mesh (docs/measurements/granite-rapids.md).
#include "ops/gemm_follow.h"
#include "ops/gemm_ways.h"

// Rows of B at a time: FEW_STEPS for up to as many rows of C, ALIAS_STEPS if rows of B alias in few sets of L1, and
// FOVEA_BN_STEPS for more rows.
enum { FEW_STEPS = 8, ALIAS_STEPS = 4 };
// Least panels of a task, and least columns at a time, in panels, if C is to leave room in L2. A worker alone (Emerald
// Rapids, 4096x4096 from memory, the other workers idle) reads strips of 16 panels at 0.71 to 1.0 of the rate of whole
// rows, of 8 at 0.58 to 0.92, of 4 at 0.42 to 0.70: of 64 workers, 64 are faster so than eight. Not measured with more
// than two at once.
enum { LEAST_PANELS = 4, WIDE_PANELS = 32 };
// Largest number of rows of C for which rows of B may begin within cache lines, which makes each load two (Granite
// Rapids, 48 and 64 rows 0.9 to 1.0 of packed on the fly, whole lines 1.44 to 1.9; Zen 4, AVX2, 40 to 64 rows 0.72 to
// 0.92).
enum { BROKEN_ROWS = 32 };

// Rows of B at a time. Rows of B that alias (rows of C then do, too) are read four at a time for three and four rows of
// C, so that a set of eight lines holds them all (4x1024x4096 1.22). For one or two rows of C eight are still better
// (1.03 to 1.08), unless the hardware prefetcher alone is to follow them (Zen 5, one row, ldb of 1024 to 4096: four
// rows of B 1.05 to 1.1 times as fast as eight; other ldb 0.9 to 0.97).
static size_t steps_of(bool aliases, size_t rows, bool alone)
{
    enum { FEW = 2 };
    if (aliases && rows <= ALIAS_STEPS && (alone || rows > FEW)) {
        return ALIAS_STEPS;
    }
    return rows <= FEW_STEPS ? FEW_STEPS : FOVEA_BN_STEPS;
}

// Most rows of C for which it is taken: of a B whose rows alias, fewer of those that a single tile takes.
static size_t most_rows(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_tuning *const tuning = plan->tuning;
    const size_t tile = plan->kernels->gemm_of[tuning - plan->kernels->tuning.gemm].mr;
    const size_t whole = plan->b_aliases && plan->desc.m <= tile ? tuning->bn_alias : tuning->bn_rows;
    return plan->b_splits ? fovea_max(whole, tuning->bn_split) : whole;
}

bool fovea_gemm_takes_steps(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    return fovea_gemm_form_of(d) == FOVEA_FORM_NN && plan->k != 0 && d->m != 0 && d->m <= most_rows(plan) &&
           (d->m <= BROKEN_ROWS || !plan->b_splits) &&
           !fovea_is_left_scalar(plan->kernels->gemm_bn.required, plan->kernel);
}

size_t fovea_gemm_step_rows(const struct fovea_kernels *kernels)
{
    size_t most = 0;
    for (int rows = FOVEA_FEW; rows < FOVEA_MANY; rows++) {
        const struct fovea_gemm_class class = {(enum fovea_gemm_rows)rows, true, FOVEA_FORM_NN};
        const uint32_t number = fovea_gemm_number(class);
        const struct fovea_gemm_tuning *const t = &kernels->tuning.gemm[number];
        if (fovea_is_left_scalar(kernels->gemm_bn.required, &kernels->gemm_of[number])) {
            continue;
        }
        most = fovea_max(most, fovea_max(fovea_max(t->bn_rows, t->bn_alias), t->bn_split));
    }
    return most;
}

// C is read and written for every few rows of B. Where its rows alias, as those of B do, or begin within lines, several
// are faster in acc, whose rows do neither. Zen 4, AVX-512, from memory: rows that alias, eight to 14 of C 1.20 to 1.28
// times as fast, five 0.94, three and four 0.62 to 0.89; if they begin within lines, too, three and four 1.03 to 1.07,
// five 1.36, eight to 14 2.0 to 2.5; within lines alone, eight and twelve 1.04 to 1.09, four and five 0.93 to 0.95.
// AVX2: rows that alias, eight 1.0, 12 to 48 1.16; within lines, too, three 1.10, five to 48 1.44 to 1.93.
enum { APART_ROWS = 3, MANY_ROWS = 8 };

bool fovea_gemm_steps_aside(const struct fovea_gemm_layout *plan, size_t rows, bool c_splits)
{
    return (c_splits || plan->b_aliases) && rows >= (c_splits && plan->b_aliases ? APART_ROWS : MANY_ROWS);
}

size_t fovea_gemm_step_groups(const struct fovea_gemm_layout *plan)
{
    return fovea_max(plan->strips.count / LEAST_PANELS, 1);
}

// As many columns as keep `rows` rows of C in half of L2, besides rows of B.
static size_t columns_of(const struct fovea_gemm_layout *plan, size_t rows)
{
    const size_t all = fovea_round_up(plan->desc.n, FOVEA_PANEL);
    const size_t room = (size_t)plan->kernels->tuning.cache.near * 1024 / 2 / sizeof(float);
    const size_t most = room / rows / FOVEA_PANEL;
    return fovea_min(all, FOVEA_PANEL * fovea_max(most, WIDE_PANELS));
}

size_t fovea_gemm_step_columns(const struct fovea_gemm_layout *plan)
{
    return columns_of(plan, plan->desc.m);
}

static size_t acc_of(const struct fovea_gemm_layout *plan, size_t rows, size_t more)
{
    const bool aside = plan->detour || fovea_gemm_steps_aside(plan, rows, true);
    return aside && rows != 0 ? rows * fovea_gemm_pitch(columns_of(plan, rows) + more) : 0;
}

size_t fovea_gemm_step_acc(const struct fovea_gemm_layout *plan)
{
    return acc_of(plan, plan->desc.m, 0);
}

// Fewer rows than these may take more of the room, because less of it is lost to rounding, and up to three panels of
// pitch.
size_t fovea_gemm_step_accs(const struct fovea_gemm_layout *plan, size_t rows)
{
    return acc_of(plan, rows, (size_t)4 * FOVEA_PANEL);
}

// One and a half times as many lines as tiles have in flight, over all rows together, because the lines of a row follow
// one another (Zen 5, three to six rows, 14 lines of each row ahead 0.95 to 1.0 of 17 to 24, 32 lines 0.9 to 1.05).
size_t fovea_gemm_step_lines(const struct fovea_gemm_layout *plan)
{
    return plan->kernels->gemm_bn.lead ? (size_t)plan->tuning->lead * 3 / 2 : 0;
}

void fovea_gemm_bn_sums(const struct fovea_gemm_layout *plan, const struct fovea_gemm_bn_problem *of, float *c,
                        ptrdiff_t c_row)
{
    const bool alone = of->near || of->rows <= plan->tuning->alone;
    const size_t steps = steps_of(fovea_gemm_rows_alias(of->ldb, FOVEA_PANEL), of->rows, alone);
    const struct fovea_cut tiles = fovea_cut(of->rows, plan->kernels->gemm_bn.mr);
    const float *a = of->a.first;
    struct fovea_gemm_bn_tile tile = {
        .n = of->columns,
        .a_row = of->a.row,
        .a_k = of->a.k,
        .b = of->b,
        .b_row = (ptrdiff_t)of->ldb,
        .c_row = c_row,
        .touch = of->near ? 0 : fovea_gemm_touch_steps(plan, of->rows),
        .lead_columns = fovea_gemm_step_lines(plan) / (steps > FEW_STEPS ? steps : FEW_STEPS) * FOVEA_LINE,
    };
    for (size_t p = 0; p < plan->k; p += tile.k, a += (ptrdiff_t)tile.k * tile.a_k) {
        tile.k = fovea_min(steps, plan->k - p);
        tile.adds = p != 0;
        const float *const next = tile.b + (p + tile.k < plan->k ? (ptrdiff_t)tile.k * tile.b_row : 0);
        tile.ahead = alone ? NULL : next;
        for (size_t t = 0, row = 0; t < tiles.count; t++, row += tile.m) {
            tile.m = fovea_cut_length(&tiles, t);
            tile.a = a + (ptrdiff_t)row * tile.a_row;
            tile.c = c + (ptrdiff_t)row * tile.c_row;
            plan->kernels->gemm_bn.run(&tile);
            tile.ahead = NULL; // the first tile has prefetched the next rows
        }
        tile.b = next;
    }
}

void fovea_gemm_bn(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t most = fovea_gemm_step_columns(plan),
                 last = fovea_gemm_strip_end(plan, area->strip + area->strips - 1);
    struct fovea_gemm_bn_problem problem = {.rows = area->rows, .a = fovea_gemm_a_of(d, area->a), .ldb = d->ldb};
    problem.a.first += (ptrdiff_t)area->row * problem.a.row;
    for (size_t begin = fovea_gemm_strip_begin(plan, area->strip), end; begin < last; begin = end) {
        end = fovea_min(begin + most, last);
        float *const c = area->c + area->row * d->ldc + (d->gated ? begin / 2 : begin);
        float *const sums = area->acc != NULL ? area->acc : c;
        const size_t row = area->acc != NULL ? fovea_gemm_pitch(most) : d->ldc;
        problem.b = (const float *)area->b + begin;
        problem.columns = end - begin;
        fovea_gemm_bn_sums(plan, &problem, sums, (ptrdiff_t)row);
        const struct fovea_gemm_sums done = {.m = area->rows, .n = end - begin, .acc = sums, .acc_row = (ptrdiff_t)row};
        fovea_gemm_finish(area, &done, c, area->row, begin);
    }
}
