// SPDX-License-Identifier: Apache-2.0
// ops/attention_copy.c - whether the tiles of a task copy K and V of a chunk before they read them.
//
// An out-of-order core that executes the next steps while it waits for L2 reads rows a layer's width apart as fast as
// adjacent ones: 16 steps of the first product need 8 lines of K, each step of the second one line of V. Zen 5,
// AVX-512, d = 64, cycles of one tile and chunk:
//
//   first product, panels copied 12,750; in place, at any pitch, 12,640
//   second product, copied 12,680; in place up to 12,860, at multiples of 2 KiB 13,150, at those of 4 KiB, where all
//   rows are in one set of L1 and a line is gone before its other columns are read, 15,800 to 16,500
//   each copy 2,000 to 2,500: a store that misses L1 takes 4
//
// Whole calls, in place against copies: 12 heads, S = 128 1.025 to 1.04, S = 197 1.025 to 1.05, S = 512 1.00 to 1.02, 2
// heads of 4096 1.01 to 1.035, 16 heads, S = 128 (K in place) 1.025; AVX2 1.00 to 1.03. Cascade Lake, a row stride of 3
// KiB, before this was a choice: the first product took 1.1 times as long in place, the second 1.4 times.
#include "ops/attention.h"
#include "ops/caches.h"
#include <string.h>

_Static_assert(FOVEA_ATTENTION_TILES_MAX == 16, "17 tiles, in tuning.def and the model, are never reached");

struct fovea_attention_copies fovea_attention_copies(const struct fovea_attention_layout *plan, size_t tiles)
{
    enum { GROUP = 8 }; // columns that are read at a time
    const struct fovea_attention_desc *const d = &plan->desc;
    const bool gathered = fovea_attention_gathers(plan, true); // in rows of v_dim elements
    const bool aliases = !gathered && d->v.row != 0 && d->v.row % FOVEA_L1_WAY == 0 && d->v_dim > GROUP;
    const bool able = plan->kernels->attention_prefill.copies != 0;
    return (struct fovea_attention_copies){
        .k = able && tiles >= plan->tuning->copy_k && d->k_layout == FOVEA_K_ROWS && d->scoring == FOVEA_SCORING_DOT,
        .v = able && (tiles >= plan->tuning->copy_v || aliases),
    };
}

static size_t k_floats(const struct fovea_attention_layout *plan, struct fovea_attention_copies copies)
{
    return copies.k ? FOVEA_CHUNK * plan->desc.qk_dim : 0;
}

size_t fovea_attention_copy_floats(const struct fovea_attention_layout *plan)
{
    const struct fovea_attention_copies copies = fovea_attention_copies(plan, plan->tiles_most);
    const size_t v = fovea_round_up(FOVEA_COPY_KEYS * fovea_round_up(plan->desc.v_dim, 8), FOVEA_PANEL);
    return plan->prefills ? k_floats(plan, copies) + (copies.v ? v : 0) : 0;
}

struct fovea_attention_copy fovea_attention_copy(const struct fovea_attention_layout *plan, size_t tiles,
                                                 float *scratch)
{
    const struct fovea_attention_copies copies = fovea_attention_copies(plan, tiles);
    float *const k = scratch + plan->copy_at, *const v = k + k_floats(plan, copies);
    return (struct fovea_attention_copy){.k = copies.k ? k : NULL, .v = copies.v ? v : NULL};
}

void fovea_attention_copy_anew(struct fovea_attention_copy *copy)
{
    memset(copy->k_done, 0, sizeof copy->k_done);
    memset(copy->v_done, 0, sizeof copy->v_done);
}
