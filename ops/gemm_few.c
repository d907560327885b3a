// SPDX-License-Identifier: Apache-2.0
// ops/gemm_few.c - few rows of C over a packed B from memory.
//
// Reading B is the limit, so a blob of 16-bit elements takes half the time of one of f32, one of 8-bit integers a
// quarter; elements are widened in registers, tile by tile. Panels are read several side by side. Rows for two
// tiles read some columns after another twice, the second time from L2. More rows of C over such a blob take other
// ways, for which a strip of B is widened to f32 first (fovea_pack_panels).
#include "ops/gemm_ways.h"
#include "ops/pack.h"

// Columns that two tiles read one after the other: half of what stays in L2, in whole pairs of panels, which is what
// tiles of so many rows have (24x768x3072, bf16, 5 panels 0.89, 10 panels 1.07).
static size_t columns_held(const struct fovea_gemm_layout *plan, size_t panel)
{
    const size_t bytes = (size_t)plan->kernels->tuning.cache.near << 9;
    return fovea_max(bytes / (2 * panel), 1) * 2 * FOVEA_PANEL;
}

void fovea_gemm_few(const struct fovea_gemm_area *area)
{
    const struct fovea_gemm_layout *const plan = area->plan;
    const struct fovea_gemm_desc *const d = &plan->desc;
    const struct fovea_gemm_few_kernel *const kernel = fovea_few_of(plan->kernels, d->b_type);
    const char *const panels = (const char *)fovea_blob_panels(area->b);
    const size_t panel = fovea_panel_bytes(d->b_type, plan->k);
    const size_t first = fovea_gemm_strip_begin(plan, area->strip);
    const size_t end = fovea_gemm_strip_end(plan, area->strip + area->strips - 1);
    const size_t room = fovea_min(fovea_round_up(end - first, FOVEA_PANEL), FOVEA_FEW_COLUMNS); // columns of acc
    const struct fovea_gemm_a a = fovea_gemm_turn_a(area);
    struct fovea_gemm_few_tile tile = {
        .k = plan->k,
        .a_k = a.k,
        .b_panel = (ptrdiff_t)(panel / fovea_type_bytes(d->b_type)),
        .c_row = (ptrdiff_t)(area->acc != NULL ? room : d->ldc),
        .quiet = fovea_few_is_quiet(plan->kernels, plan->tuning, d->b_type, area->rows),
    };
    const struct fovea_cut tiles = fovea_cut(area->rows, kernel->mr);
    const size_t held = tiles.count > 1 ? columns_held(plan, panel) : SIZE_MAX;
    const size_t most = fovea_min(area->acc != NULL ? room : SIZE_MAX, held);
    for (size_t begin = first; begin < end; begin += tile.n) {
        float *const c = area->c + area->row * d->ldc + (d->gated ? begin / 2 : begin);
        float *const sums = area->acc != NULL ? area->acc : c;
        tile.n = fovea_min(most, end - begin);
        tile.b = panels + begin / FOVEA_PANEL * panel;
        for (size_t t = 0, row = 0; t < tiles.count; t++, row += tile.m) {
            tile.m = fovea_cut_length(&tiles, t);
            tile.a = a.first + row;
            tile.c = sums + (ptrdiff_t)row * tile.c_row;
            kernel->run(&tile);
        }
        const struct fovea_gemm_sums done = {.m = area->rows, .n = tile.n, .acc = sums, .acc_row = tile.c_row};
        fovea_gemm_finish(area, &done, c, area->row, begin);
    }
}
