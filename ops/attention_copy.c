// SPDX-License-Identifier: Apache-2.0
// ops/attention_copy.c - whether the tiles of a task of prefill copy K and V of a chunk before they read them.
//
// A core that has the next steps under way while it waits for L2 reads rows a layer's width apart as fast as rows side
// by side: 16 steps of the first product need 8 lines of K, each of the second one line of V. Zen 5, AVX-512, d = 64,
// cycles of one tile and chunk:
//
//   first product, panels copied 12,750; in place, at any pitch, 12,640
//   second product, copied 12,680; in place up to 12,860, at multiples of 2 KiB 13,150, at those of 4 KiB, where all
//   rows are in one set of L1 and a line is gone before its other columns are read, 15,800 to 16,500
//   each copy 2,000 to 2,500: a store that misses L1 takes 4
//
// Calls in place against copies: 12 heads, S = 128 1.025 to 1.04, S = 197 1.025 to 1.05, S = 512 1.00 to 1.02, 2 heads
// of 4096 1.01 to 1.035, 16 heads, S = 128 (K in place) 1.025; AVX2 1.00 to 1.03. Cascade Lake, a pitch of 3 KiB,
// before this was a choice: the first product took 1.1 times as long in place, the second 1.4 times.
#include "ops/attention.h"
#include <string.h>

static bool copies_k(const struct fovea_attention_layout *plan, size_t tiles)
{
    return tiles >= plan->tuning->copy_k && plan->desc.k_layout == FOVEA_K_ROWS;
}

static bool copies_v(const struct fovea_attention_layout *plan, size_t tiles)
{
    enum { SETS = 4096 }; // bytes after which the sets of L1 repeat
    return tiles >= plan->tuning->copy_v || plan->desc.v.row * sizeof(float) % SETS == 0;
}

size_t fovea_attention_copy_floats(const struct fovea_attention_layout *plan)
{
    const size_t v = FOVEA_COPY_KEYS * fovea_round_up(plan->desc.v_dim, 8);
    return (copies_k(plan, plan->tiles_most) ? FOVEA_CHUNK * plan->desc.qk_dim : 0) +
           (copies_v(plan, plan->tiles_most) ? fovea_round_up(v, FOVEA_PANEL) : 0);
}

struct fovea_attention_copy fovea_attention_copy(const struct fovea_attention_layout *plan, size_t tiles,
                                                 float *scratch)
{
    float *const k = scratch + plan->copy_at;
    float *const v = k + (copies_k(plan, tiles) ? FOVEA_CHUNK * plan->desc.qk_dim : 0);
    return (struct fovea_attention_copy){.k = v != k ? k : NULL, .v = copies_v(plan, tiles) ? v : NULL};
}

void fovea_attention_copy_anew(struct fovea_attention_copy *copy)
{
    memset(copy->k_done, 0, sizeof copy->k_done);
    memset(copy->v_done, 0, sizeof copy->v_done);
}
