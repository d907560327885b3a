// SPDX-License-Identifier: Apache-2.0
// ops/attention_keys.c - where a kernel finds K and V of a chunk: in place, in blocks of 16 keys, or in a copy.
//
// A block of memory, and pages of 128 keys and more, contain whole chunks, which are read in place. A chunk in smaller
// pages is read in place by decoding, in blocks of 16 keys. For prefill, and for additive scores, it is gathered: 128
// keys and values, at most 512 KiB, which are then in L2 at the latest. Elements of 16 bits are read in place by
// decoding over K in panels; everything else widens them to such a copy, which the tiles of a task share. Only keys
// that some row sees are copied, and only the entries of their pages are read.
#include "ops/attention.h"
#include "ops/widen.h"

static bool seen(const struct fovea_attention_chunk *chunk, size_t j)
{
    return chunk->visible == NULL || chunk->visible[j] != 0;
}

// Whether some row sees one of the 16 keys of j's panel.
static bool panel_seen(const struct fovea_attention_chunk *chunk, size_t j)
{
    const size_t end = fovea_min(chunk->keys, j + FOVEA_PANEL);
    for (; j < end; j++) {
        if (seen(chunk, j)) {
            return true;
        }
    }
    return false;
}

static const void *at(const struct fovea_attention_tile *tile, const struct fovea_attention_matrix *of, size_t key)
{
    const size_t keys = tile->plan->desc.page_keys;
    if (keys == 0) {
        return of->first + (key - tile->args->kv_begin) * of->row * of->size;
    }
    const uint32_t *const table = tile->args->pages + tile->batch * tile->args->pages_batch;
    return of->first + (table[key / keys] * of->page + key % keys * of->row) * of->size;
}

// The same, if keys follow one another without gaps, else NULL: what comes next, to be prefetched.
static const void *ahead(const struct fovea_attention_tile *tile, const struct fovea_attention_matrix *of, size_t key)
{
    return of->row == of->columns ? at(tile, of, key) : NULL;
}

static struct fovea_attention_matrix matrix_of(const struct fovea_attention_tile *tile, const void *first,
                                               struct fovea_strides strides, size_t columns, bool panels)
{
    const bool paged = tile->plan->desc.page_keys != 0;
    const size_t size = fovea_type_bytes(tile->plan->desc.kv_type);
    const size_t entry = (paged ? 0 : tile->batch * strides.batch) + tile->kv_head * strides.head;
    return (struct fovea_attention_matrix){.first = (const char *)first + entry * size,
                                           .page = strides.batch,
                                           .row = panels ? columns : strides.row,
                                           .columns = columns,
                                           .size = size,
                                           .panels = panels};
}

// Sets the blocks of 16 keys that some row sees, and those of the next chunk if it is prefetched.
static void point(struct fovea_attention_view *view, size_t key, bool more)
{
    const struct fovea_attention_matrix *const k = &view->k, *const v = &view->v;
    struct fovea_attention_blocks *const blocks = &view->blocks;
    for (size_t i = 0, j = 0; j < view->chunk.keys; i++, j += FOVEA_PANEL) {
        const bool wanted = panel_seen(&view->chunk, j);
        const size_t next = key + FOVEA_CHUNK + j;
        blocks->k[i] = wanted ? at(view->tile, k, key + j) : NULL;
        blocks->v[i] = wanted ? at(view->tile, v, key + j) : NULL;
        blocks->k_ahead[i] = more ? ahead(view->tile, k, next) : NULL;
        blocks->v_ahead[i] = more ? ahead(view->tile, v, next) : NULL;
    }
    view->decode.blocks = blocks;
}

// Points to the chunk in place.
static void point_whole(struct fovea_attention_view *view, size_t key, bool more)
{
    const struct fovea_attention_matrix *const k = &view->k, *const v = &view->v;
    const void *const first_k = at(view->tile, k, key), *const first_v = at(view->tile, v, key);
    if (k->size == sizeof(float)) {
        view->chunk.k = first_k;
        view->chunk.v = first_v;
    } else {
        view->decode.k_half = first_k;
        view->decode.v_half = first_v;
    }
    if (!view->tile->prefill) {
        view->decode.hints.k_ahead = more ? ahead(view->tile, k, key + FOVEA_CHUNK) : NULL;
        view->decode.hints.v_ahead = more ? ahead(view->tile, v, key + FOVEA_CHUNK) : NULL;
    }
}

// Whether keys from j on, one or a panel, are seen, but not in the copy yet. Records that they will be.
static bool take(const struct fovea_attention_chunk *chunk, const struct fovea_attention_matrix *of, size_t j,
                 uint64_t *done)
{
    const uint64_t bit = UINT64_C(1) << j % 64;
    const bool wanted =
        j < chunk->keys && (of->panels ? panel_seen(chunk, j) : seen(chunk, j)) && !(done[j / 64] & bit);
    if (wanted) {
        done[j / 64] |= bit;
    }
    return wanted;
}

// Copies the keys that are seen and that `done` does not have yet, of a K in panels whole panels: as many at a time as
// follow one another in memory.
static void copy(const struct fovea_attention_view *view, const struct fovea_attention_matrix *of, size_t key,
                 float *to, uint64_t *done)
{
    const struct fovea_attention_layout *const plan = view->tile->plan;
    const size_t step = of->panels ? FOVEA_PANEL : 1, page = plan->desc.page_keys;
    for (size_t j = 0, end; j < view->chunk.keys; j = end) {
        end = j + step;
        if (!take(&view->chunk, of, j, done)) {
            continue;
        }
        while (of->row == of->columns && (page == 0 || (key + end) % page != 0) && take(&view->chunk, of, end, done)) {
            end += step;
        }
        fovea_widen(plan->kernels, plan->desc.kv_type, (end - j) * of->columns, at(view->tile, of, key + j),
                    to + j * of->columns);
    }
}

// Points to a copy of the chunk as f32.
static void gather(struct fovea_attention_view *view, size_t key)
{
    const struct fovea_attention_matrix *const k = &view->k, *const v = &view->v;
    struct fovea_attention_chunk *const chunk = &view->chunk;
    float *const k_dense = chunk->scratch + view->tile->plan->dense_at;
    float *const v_dense = k_dense + FOVEA_CHUNK * k->columns;
    copy(view, k, key, k_dense, view->dense->k_done);
    copy(view, v, key, v_dense, view->dense->v_done);
    if (!view->tile->prefill) {
        view->decode.hints.far = 0;
        view->decode.hints.k_ahead = view->decode.hints.v_ahead = NULL;
    }
    view->decode_kernel = &view->tile->plan->kernels->attention_decode;
    chunk->k = k_dense;
    chunk->v = v_dense;
    chunk->k_row = k->panels ? 0 : (ptrdiff_t)k->columns;
    chunk->v_row = (ptrdiff_t)v->columns;
}

// Whether a mask leaves the keys that are seen in several short runs: then the kernels for 16-bit elements, which take
// them run by run, are slower than a copy that the kernel for f32 compacts. Rows' ranges may be as far apart, but
// rarely, and a plan without masks has no room for the copy.
static bool scattered(const struct fovea_attention_desc *desc, const struct fovea_attention_chunk *chunk)
{
    enum { RUN = 8 };
    if (!fovea_attention_is_masked(desc) || chunk->visible == NULL) {
        return false;
    }
    const struct fovea_attention_runs of = fovea_attention_runs(chunk->visible, chunk->keys);
    return of.runs > 1 && of.keys < RUN * of.runs;
}

void fovea_attention_matrices(struct fovea_attention_view *view)
{
    const struct fovea_attention_tile *const tile = view->tile;
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    view->k = matrix_of(tile, tile->args->k, tile->k, d->qk_dim, d->k_layout == FOVEA_K_PANELS);
    view->v = matrix_of(tile, tile->args->v, tile->v, d->v_dim, false);
    view->gathers = fovea_attention_gathers(tile->plan, tile->prefill);
}

bool fovea_attention_gathers(const struct fovea_attention_layout *plan, bool prefill)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const bool half = d->kv_type != FOVEA_F32, small = d->page_keys != 0 && d->page_keys < FOVEA_CHUNK;
    const bool additive = d->scoring == FOVEA_SCORING_ADDITIVE;
    return (small && (prefill || additive)) || (half && (prefill || additive || d->k_layout == FOVEA_K_ROWS));
}

void fovea_attention_locate(struct fovea_attention_view *view, size_t key)
{
    const struct fovea_attention_tile *const tile = view->tile;
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const struct fovea_attention_matrix *const k = &view->k, *const v = &view->v;
    view->chunk.k_row = k->panels ? 0 : (ptrdiff_t)k->row;
    view->chunk.v_row = (ptrdiff_t)v->row;
    if (!tile->prefill) {
        view->decode.hints.far = view->far;
        view->decode.blocks = NULL;
    }
    if (view->gathers || (d->kv_type != FOVEA_F32 && scattered(d, &view->chunk))) {
        gather(view, key);
        return;
    }
    // Whether another whole chunk follows, and is prefetched: of pages only those of keys that all rows see may be
    // known.
    const size_t next = key + FOVEA_CHUNK;
    const bool asks = !tile->prefill && view->far, paged = d->page_keys != 0;
    const bool more = asks && (paged ? next % FOVEA_CHUNK == 0 && fovea_attention_all_see(tile, next)
                                     : view->chunk.keys == FOVEA_CHUNK && k->row == k->columns &&
                                           next + FOVEA_CHUNK <= tile->end_most);
    view->decode_kernel = fovea_decode_of(tile->plan->kernels, d->kv_type);
    if (paged && d->page_keys < FOVEA_CHUNK) {
        point(view, key, more);
    } else {
        point_whole(view, key, more);
    }
}
