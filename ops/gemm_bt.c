// SPDX-License-Identifier: Apache-2.0
// ops/gemm_bt.c - few rows and a transposed B: each row of B is read once, in place.
//
// Packing B for so few rows takes longer than the product: M = 1 ran at 40 % of the read stream, 4 at 30. All of A is
// read for every panel of B, so A is transposed first: its elements are then in the order they are read in, and do not
// alias in one set of L1 (16x4096x4096: half of the time).
#include "ops/gemm_follow.h"
#include "ops/gemm_ways.h"

#include <string.h>

enum {
    SPREAD_ROWS = 16, // most rows of a tile
    CALL_PANELS = 4,  // most panels per call of the kernel
};

static bool is_far(const struct fovea_gemm_layout *plan)
{
    return fovea_gemm_far(&plan->kernels->tuning, plan->desc.m, plan->desc.n, plan->k, FOVEA_FORM_NT);
}

bool fovea_gemm_spreads(const struct fovea_gemm_layout *plan, size_t rows)
{
    return rows * plan->k <= plan->tuning->spread && is_far(plan);
}

uint32_t fovea_gemm_stream(const struct fovea_gemm_layout *plan)
{
    return plan->kernels->gemm_bt.lead ? plan->tuning->stream : 0;
}

bool fovea_gemm_fetches(const struct fovea_gemm_layout *plan)
{
    return plan->kernels->gemm_bt.ahead && plan->k <= plan->tuning->fetch_k && is_far(plan);
}

uint32_t fovea_gemm_side(const struct fovea_gemm_layout *plan, size_t rows)
{
    enum { FEW = 8, SOME = 16, MANY = 32, LONG = 1280 };
    if (rows > plan->kernels->gemm_bt.side_rows) {
        return plan->kernels->gemm_bt.nr;
    }
    if (!fovea_is_far(plan->kernels->tuning.cache.near, (double)plan->desc.n * (double)plan->k)) {
        return plan->b_aliases ? SOME : MANY; // rows that alias in few sets of L1 evict one another
    }
    // So they do here, where avoiding it gains more (4x4096x1024 1.16 on Zen 4, 4x1536x384 0.89). Other long rows are
    // streams enough by 16 for two rows of C (Zen 4, k of 1500 to 11008 1.02 to 1.2, of 1152 0.96 to 1.01); for one row
    // the kernel takes both halves of 16 rows together.
    const bool by_16 = rows > 1 && !plan->b_aliases && plan->k >= LONG && plan->kernels->gemm_bt.nr >= SOME;
    return rows <= plan->tuning->half_rows * (plan->b_aliases ? 3 : 1) && !by_16 ? FEW : SOME;
}

// Computes columns from `begin` on, a multiple of nr, in calls that read nr rows of B as far apart as possible, so that
// each is one of nr streams through all of B. If they are prefetched, their distance is an odd number of rows:
// otherwise their lines may all be in one set of L2, too, and be evicted before use. C's columns are as far apart; they
// are raw sums until all are computed. Returns the number of these columns.
static size_t spread_rows(const struct fovea_gemm_area *area, struct fovea_gemm_bt_tile tile, const float *a,
                          size_t begin, size_t end)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const size_t lanes = plan->kernels->gemm_bt.nr, most = (end - begin) / lanes;
    const size_t apart = most != 0 && fovea_gemm_stream(plan) != 0 ? (most - 1) | 1 : most;
    if (!fovea_gemm_spreads(plan, area->rows) || plan->kernels->gemm_bt.mr > SPREAD_ROWS || lanes > FOVEA_PANEL ||
        apart == 0) {
        return 0;
    }
    const struct fovea_cut tiles = fovea_cut(area->rows, plan->kernels->gemm_bt.mr);
    float room[SPREAD_ROWS * FOVEA_PANEL];
    tile.b += (ptrdiff_t)(begin * d->ldb);
    tile.b_row = (ptrdiff_t)(apart * d->ldb);
    tile.n = lanes;
    tile.far = 0; // the rows after these are not the next ones
    tile.side = (uint32_t)lanes;
    tile.stream = fovea_gemm_stream(plan);
    tile.c = room;
    tile.c_row = FOVEA_PANEL;
    for (size_t j = 0; j < apart; j++, tile.b += d->ldb) {
        tile.a = a;
        for (size_t t = 0, row = area->row; t < tiles.count; t++, row += tile.m) {
            tile.m = fovea_cut_length(&tiles, t);
            plan->kernels->gemm_bt.run(&tile);
            float *const c = area->c + row * d->ldc + begin + j;
            for (size_t i = 0; i < tile.m; i++) {
                for (size_t lane = 0; lane < lanes; lane++) {
                    c[i * d->ldc + lane * apart] = room[i * FOVEA_PANEL + lane];
                }
            }
            tile.a += tile.m;
        }
    }
    float *const c = area->c + area->row * d->ldc + begin;
    const struct fovea_gemm_sums done = {.m = area->rows, .n = lanes * apart, .acc = c, .acc_row = (ptrdiff_t)d->ldc};
    fovea_gemm_finish(area, &done, c, area->row, begin);
    return done.n;
}

bool fovea_gemm_moves_a(const struct fovea_gemm_layout *plan, size_t rows)
{
    return rows == 1 && plan->desc.trans_a != FOVEA_TRANS && plan->b_aliases && fovea_gemm_fetches(plan);
}

// Copies the row to where it is in other sets of L1 than the same steps of B, whose rows all are in one set, or in two
// half a way apart (Zen 4, from memory, k of 3072 and 4096, in place of an A that begins at the same place of a page:
// 1.05 to 1.10 times as fast; two rows and more 0.99 to 1.01).
static const float *move_a(const struct fovea_gemm_area *area, const float *a)
{
    const size_t apart = FOVEA_L1_WAY / 4, k = area->plan->k;
    const size_t away = ((uintptr_t)area->b - (uintptr_t)area->b_room) / sizeof *a; // modulo a way
    float *const room = area->b_room + (away - apart) % FOVEA_L1_WAY;
    memcpy(room, a, k * sizeof *a);
    return room;
}

struct fovea_gemm_a fovea_gemm_turn_a(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    struct fovea_gemm_a a = fovea_gemm_a_of(&plan->desc, area->a);
    a.first += (ptrdiff_t)area->row * a.row;
    if (fovea_gemm_moves_a(plan, area->rows)) {
        a.first = move_a(area, a.first);
    }
    if (area->rows > 1 && plan->desc.trans_a != FOVEA_TRANS) {
        const ptrdiff_t rows = (ptrdiff_t)area->rows;
        plan->kernels->transpose.run(area->rows, plan->k, 1.0f, a.first, a.row, area->b_room, rows);
        a = (struct fovea_gemm_a){area->b_room, 1, rows};
    }
    return a;
}

void fovea_gemm_bt(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    size_t begin = fovea_gemm_strip_begin(plan, area->strip);
    const size_t end = fovea_gemm_strip_end(plan, area->strip + area->strips - 1);
    const struct fovea_cut tiles = fovea_cut(area->rows, plan->kernels->gemm_bt.mr);
    const struct fovea_gemm_a a = fovea_gemm_turn_a(area);
    // As many panels per call as acc has room for, which holds mr x 16 sums or all of C; the same without acc.
    const size_t mr = plan->kernels->gemm_bt.mr, most = mr / fovea_min(area->rows, mr);
    const size_t columns =
        FOVEA_PANEL * fovea_min(fovea_min(CALL_PANELS, most), fovea_ceil_div(end - begin, FOVEA_PANEL));
    const uint32_t side = fovea_gemm_side(plan, area->rows);
    struct fovea_gemm_bt_tile tile = {
        .k = plan->k,
        .a_k = a.k,
        .b = area->b,
        .b_row = (ptrdiff_t)d->ldb,
        .c_row = area->acc != NULL ? (ptrdiff_t)columns : (ptrdiff_t)d->ldc,
        .far = fovea_gemm_fetches(plan),
        .side = side,
        .into_l1 = plan->tuning->into_l1,
        .twice = fovea_gemm_twice(plan, area->rows),
        .touch = fovea_gemm_touch_rows(plan, area->rows, side),
        .head = fovea_gemm_head(d->ldb, plan->k, area->b, area->rows),
    };
    const size_t spread = area->acc == NULL ? spread_rows(area, tile, a.first, begin, end) : 0;
    begin += spread;
    tile.b += (ptrdiff_t)begin * tile.b_row;
    for (size_t j = begin; j < end; j += columns, tile.b += (ptrdiff_t)columns * tile.b_row) {
        tile.n = fovea_min(columns, end - j);
        tile.a = a.first;
        for (size_t t = 0, row = area->row; t < tiles.count; t++, row += tile.m) {
            float *const c = area->c + row * d->ldc + (d->gated ? j / 2 : j);
            tile.m = fovea_cut_length(&tiles, t);
            tile.c = area->acc != NULL ? area->acc : c;
            plan->kernels->gemm_bt.run(&tile);
            const struct fovea_gemm_sums done = {.m = tile.m, .n = tile.n, .acc = tile.c, .acc_row = tile.c_row};
            fovea_gemm_finish(area, &done, c, row, j);
            tile.a += tile.m;
        }
    }
}
