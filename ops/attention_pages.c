// SPDX-License-Identifier: Apache-2.0
// ops/attention_pages.c - chunks of keys in pages.
//
// Pages of 128 keys and more contain whole chunks, which are read in place. A chunk in smaller pages is read in place
// by decoding, in blocks of 16 keys. For prefill, and for additive scores, it is gathered: 128 keys and values, at most
// 512 KiB, which are then in L2 at the latest. Only keys that some row sees are copied, and only the entries of their
// pages are read.
#include "ops/attention.h"
#include <string.h>

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

// The location and row length of K or of V in pages.
struct paged {
    const float *first; // first element of page 0
    size_t page, row, columns;
};

static const float *paged_at(const struct fovea_attention_tile *tile, const struct paged *of, size_t key)
{
    const size_t size = tile->plan->desc.page_keys;
    const uint32_t *const table = tile->args->pages + tile->batch * tile->args->pages_batch;
    return of->first + table[key / size] * of->page + key % size * of->row;
}

// Sets the blocks of 16 keys that some row sees, and those of the next chunk if all rows see all of it.
static void point(struct fovea_attention_view *view, const struct paged *k, const struct paged *v, size_t key,
                  bool more)
{
    struct fovea_attention_blocks *const blocks = &view->blocks;
    for (size_t i = 0, j = 0; j < view->chunk.keys; i++, j += FOVEA_PANEL) {
        const bool wanted = panel_seen(&view->chunk, j);
        const size_t next = key + FOVEA_CHUNK + j;
        blocks->k[i] = wanted ? paged_at(view->tile, k, key + j) : NULL;
        blocks->v[i] = wanted ? paged_at(view->tile, v, key + j) : NULL;
        blocks->k_ahead[i] = more && k->row == k->columns ? paged_at(view->tile, k, next) : NULL;
        blocks->v_ahead[i] = more && v->row == v->columns ? paged_at(view->tile, v, next) : NULL;
    }
    view->decode.blocks = blocks;
}

// Copies the keys that are seen.
static void gather(struct fovea_attention_view *view, const struct paged *k, const struct paged *v, size_t key)
{
    struct fovea_attention_chunk *const chunk = &view->chunk;
    const bool panels = view->tile->plan->desc.k_layout == FOVEA_K_PANELS;
    float *const k_dense = chunk->scratch + view->tile->plan->pages_at;
    float *const v_dense = k_dense + FOVEA_CHUNK * k->columns;
    for (size_t j = 0; j < chunk->keys; j++) {
        if (panels && j % FOVEA_PANEL == 0 && panel_seen(chunk, j)) {
            memcpy(k_dense + j * k->columns, paged_at(view->tile, k, key + j),
                   FOVEA_PANEL * k->columns * sizeof *k_dense);
        }
        if (seen(chunk, j)) {
            memcpy(v_dense + j * v->columns, paged_at(view->tile, v, key + j), v->columns * sizeof *v_dense);
            if (!panels) {
                memcpy(k_dense + j * k->columns, paged_at(view->tile, k, key + j), k->columns * sizeof *k_dense);
            }
        }
    }
    if (!view->tile->prefill) {
        view->decode.hints.far = 0;
    }
    chunk->k = k_dense;
    chunk->v = v_dense;
    chunk->k_row = panels ? 0 : (ptrdiff_t)k->columns;
    chunk->v_row = (ptrdiff_t)v->columns;
}

void fovea_attention_page(struct fovea_attention_view *view, size_t key)
{
    const struct fovea_attention_tile *const tile = view->tile;
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    struct fovea_attention_chunk *const chunk = &view->chunk;
    const size_t next = key + FOVEA_CHUNK, k_row = d->k_layout == FOVEA_K_PANELS ? d->qk_dim : d->k.row;
    struct fovea_decode_hints *const hints = tile->prefill ? NULL : &view->decode.hints;
    const bool more =
        hints != NULL && hints->far && next % FOVEA_CHUNK == 0 && fovea_attention_all_see(tile, next, FOVEA_CHUNK);
    const struct paged k = {tile->args->k + tile->kv_head * tile->k.head, tile->k.batch, k_row, d->qk_dim};
    const struct paged v = {tile->args->v + tile->kv_head * tile->v.head, tile->v.batch, d->v.row, d->v_dim};
    if (d->page_keys >= FOVEA_CHUNK) {
        chunk->k = paged_at(tile, &k, key);
        chunk->v = paged_at(tile, &v, key);
        if (hints != NULL) {
            hints->k_ahead = more && k.row == k.columns ? paged_at(tile, &k, next) : NULL;
            hints->v_ahead = more && v.row == v.columns ? paged_at(tile, &v, next) : NULL;
        }
    } else if (tile->prefill || chunk->additive != NULL) {
        gather(view, &k, &v, key);
    } else {
        point(view, &k, &v, key, more);
    }
}
