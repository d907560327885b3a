// SPDX-License-Identifier: Apache-2.0
// ops/gemm_bare.c - direct plans that are nothing but tiles: B is read as it is, and sums are what C gets.
//
// What gemm.c and gemm_direct.c ask and hand on in every call takes 30 ns on Zen 4, of the 630 of a 32 cube. All of it
// is known to the plan but the addresses: 20 ns (32 and 33 cubes 1.02, the 47 cube 1.01 times as fast).
#include "ops/gemm.h"
#include "ops/pack.h"

// The last strip of a small micro-kernel and a natural B begins so much before the end of C that it is whole halves of
// a panel, if it is not the first one. What is computed twice has the same bits (AVX2, whose edges go through a room of
// their own, Zen 4: 17 cube 1.37 times as fast, 33 1.2, 47 1.2, 97 and 100 1.02).
enum { HALF = FOVEA_PANEL / 2 };

bool fovea_gemm_whole_panels(const struct fovea_gemm_desc *d, size_t end)
{
    return end % FOVEA_PANEL == 0 || (d->ldb == d->n && d->n >= FOVEA_PANEL);
}

struct fovea_gemm_tile fovea_gemm_direct_tile(const struct fovea_gemm_layout *plan, bool natural)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool turned = d->trans_a == FOVEA_TRANS;
    return (struct fovea_gemm_tile){
        .k = plan->k,
        .a_row = turned ? 1 : (ptrdiff_t)d->lda,
        .a_k = turned ? (ptrdiff_t)d->lda : 1,
        .b_panel = natural ? FOVEA_PANEL : (ptrdiff_t)(FOVEA_PANEL * plan->k),
        .b_k = natural ? (ptrdiff_t)d->ldb : FOVEA_PANEL,
        .c_row = (ptrdiff_t)d->ldc,
        .mode = FOVEA_GEMM_STORE,
        .near = 1,
    };
}

bool fovea_gemm_is_bare(const struct fovea_gemm_layout *plan)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool natural = !d->b_packed && d->trans_b != FOVEA_TRANS && !plan->grid.pack_b;
    const bool whole = plan->edge != 0 || fovea_gemm_whole_panels(d, d->n);
    return plan->direct && !plan->along && (d->b_packed || (natural && whole)) && !plan->detour && d->alpha == 1 &&
           d->activation == FOVEA_ACTIVATION_NONE;
}

static void run_column(const struct fovea_gemm_kernel *kernel, const struct fovea_cut *tiles,
                       struct fovea_gemm_tile *tile)
{
    tile->m = tiles->size;
    if (tiles->longer != 0) {
        tile->m++;
        fovea_gemm_below(tile, tiles->longer);
        kernel->run(tile);
        tile->a += (ptrdiff_t)tiles->longer * tile->a_next;
        tile->c += (ptrdiff_t)tiles->longer * tile->c_next;
        tile->m--;
    }
    fovea_gemm_below(tile, tiles->count - tiles->longer);
    kernel->run(tile);
}

void fovea_gemm_bare(const struct fovea_gemm_layout *plan, const struct fovea_gemm_args *args)
{
    const struct fovea_gemm_desc *const d = &plan->desc;
    const bool halves = !d->b_packed && fovea_gemm_is_small(plan->kernel);
    struct fovea_gemm_tile tile = plan->tile;
    for (size_t entry = 0; entry < d->batch; entry++) {
        const float *const b = (const float *)args->b + entry * d->batch_b;
        const float *const panels = d->b_packed ? fovea_blob_panels((const void *)b) : b;
        for (size_t strip = 0, panel = 0, next; strip < plan->strips.count; strip++, panel = next) {
            next = panel + plan->strips.size + (strip < plan->strips.longer);
            const size_t end = fovea_min(next * FOVEA_PANEL, d->n);
            const size_t first = panel * FOVEA_PANEL;
            const bool edge = fovea_gemm_is_edge(plan, strip); // where there is none a row of B has a panel
            const size_t begin = halves && !edge && first != 0 ? end - fovea_round_up(end - first, HALF) : first;
            tile.n = end - begin;
            tile.b_ends = !d->b_packed && tile.n % FOVEA_PANEL != 0;
            tile.a = args->a + entry * d->batch_a;
            tile.b = d->b_packed ? panels + (ptrdiff_t)panel * tile.b_panel : panels + begin;
            tile.c = args->c + entry * d->batch_c + begin;
            if (edge) {
                tile.m = d->m;
                tile.more = 0;
                fovea_gemm_run_edge(plan, &tile);
            } else {
                run_column(plan->kernel, &plan->tiles, &tile);
            }
        }
    }
}
