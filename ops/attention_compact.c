// SPDX-License-Identifier: Apache-2.0
// ops/attention_compact.c - reduces a chunk with scattered hidden keys to the keys that are seen.
//
// A kernel skips keys that no row sees run by run, and runs of a few keys leave its tiles mostly empty: with every
// other key hidden a prefill call took 1.8 times as long as with none hidden. A row computes chains over the keys that
// it sees, in ascending order (docs/numerics.md), so a chunk of only these keys gives the same bits, as long as the
// position of a key in the chunk does not matter; it does for biases, ALiBi and the key of the largest weight.
#include "ops/attention.h"
#include <string.h>

// Least runs of seen keys, and least share of hidden keys, for which a chunk is compacted: 1/SHARE for one tile, half
// of that for two tiles that process the chunk, and so on. 2048 queries and keys of 64, Emerald Rapids, in units of the
// time of all keys: every other key hidden 1.84 -> 0.57 to 0.65, every other 16 0.78 -> 0.56 to 0.65, nine of ten
// hidden at random 0.6 -> 0.21 to 0.28; AVX2 1.65 -> 0.56. One key of 33 hidden: 16 queries 0.80 to 0.95, 48 0.94 to
// 0.98, 192 1.0 to 1.2, 2048 1.1 to 1.15; one of five: 16 1.08 to 1.22, 48 1.18 to 1.4.
enum { RUNS = 3, SHARE = 8 };

struct fovea_attention_runs fovea_attention_runs(const uint64_t *visible, size_t keys)
{
    struct fovea_attention_runs of = {0, 0};
    for (size_t j = 0, before = 0; j < keys; j++) {
        const size_t seen = visible[j] != 0;
        of.keys += seen;
        of.runs += seen & ~before;
        before = seen;
    }
    return of;
}

bool fovea_attention_compacts(const struct fovea_attention_layout *plan)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const bool placed = d->bias || d->statistics;
    return fovea_attention_is_masked(d) && !placed && plan->prefills;
}

// Copies the elements of the keys that are seen, one key after another.
static void copy_rows(const uint64_t *visible, size_t keys, const float *from, ptrdiff_t row, size_t columns, float *to)
{
    for (size_t j = 0; j < keys; j++, from += row) {
        if (visible[j] != 0) {
            memcpy(to, from, columns * sizeof *to);
            to += columns;
        }
    }
}

// The same for panels of 16 keys; each panel of which a key is seen is first transposed in the kernel's scratch.
static void copy_panels(const struct fovea_attention_view *view, float *to)
{
    const struct fovea_attention_chunk *const chunk = &view->chunk;
    float *const rows = chunk->scratch;
    for (size_t j = 0; j < chunk->keys; j += FOVEA_PANEL) {
        const size_t keys = fovea_min(FOVEA_PANEL, chunk->keys - j);
        if (fovea_attention_runs(view->visible + j, keys).runs == 0) {
            continue;
        }
        view->tile->plan->kernels->transpose.run(chunk->qk_dim, FOVEA_PANEL, 1.0f, chunk->k + j * chunk->qk_dim,
                                                 FOVEA_PANEL, rows, (ptrdiff_t)chunk->qk_dim);
        copy_rows(view->visible + j, keys, rows, (ptrdiff_t)chunk->qk_dim, chunk->qk_dim, to);
        for (size_t i = 0; i < keys; i++) {
            to += view->visible[j + i] != 0 ? chunk->qk_dim : 0;
        }
    }
}

// Whether the copy already has these keys; records that it will.
static bool has(struct fovea_attention_compact *compact, const uint64_t *visible, size_t keys)
{
    uint64_t wanted[FOVEA_CHUNK / 64] = {0};
    for (size_t j = 0; j < keys; j++) {
        wanted[j / 64] |= (uint64_t)(visible[j] != 0) << j % 64;
    }
    const bool same = memcmp(wanted, compact->keys, sizeof wanted) == 0;
    memcpy(compact->keys, wanted, sizeof wanted);
    return same;
}

void fovea_attention_compact(struct fovea_attention_view *view, struct fovea_attention_compact *compact)
{
    struct fovea_attention_chunk *const chunk = &view->chunk;
    const struct fovea_attention_layout *const plan = view->tile->plan;
    float *const k = chunk->scratch + plan->compact_at, *const v = k + FOVEA_CHUNK * chunk->qk_dim;
    const bool placed = chunk->bias != NULL || chunk->falls != NULL || chunk->state.spread != NULL;
    if (chunk->visible == NULL || placed) {
        return;
    }
    const struct fovea_attention_runs seen = fovea_attention_runs(view->visible, chunk->keys);
    if (seen.runs < RUNS || (chunk->keys - seen.keys) * SHARE * compact->tiles < chunk->keys) {
        return;
    }
    if (!has(compact, view->visible, chunk->keys)) {
        if (chunk->k_row != 0) {
            copy_rows(view->visible, chunk->keys, chunk->k, chunk->k_row, chunk->qk_dim, k);
        } else {
            copy_panels(view, k);
        }
        copy_rows(view->visible, chunk->keys, chunk->v, chunk->v_row, chunk->state.v_dim, v);
    }
    const uint64_t rows = ~UINT64_C(0) >> (FOVEA_TILE_ROWS_MAX - view->tile->rows);
    uint64_t all = rows;
    size_t keys = 0;
    for (size_t j = 0; j < chunk->keys; j++) {
        if (view->visible[j] != 0) {
            all &= view->visible[j];
            if (chunk->keep != NULL) {
                view->keep[keys] = view->keep[j];
            }
            view->visible[keys++] = view->visible[j];
        }
    }
    chunk->keys = keys;
    chunk->visible = all == rows ? NULL : view->visible;
    chunk->k = k;
    chunk->v = v;
    chunk->k_row = (ptrdiff_t)chunk->qk_dim;
    chunk->v_row = (ptrdiff_t)chunk->state.v_dim;
    view->prefill.copy = NULL;
}
