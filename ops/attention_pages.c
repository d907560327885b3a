// SPDX-License-Identifier: Apache-2.0
// ops/attention_pages.c - chunks of keys that lie in pages, and ragged batches.
//
// Pages of 128 keys and more hold whole chunks, which are read in place. A chunk in smaller pages is gathered: 128 keys
// and values, at most 512 KiB, that the kernel then finds in L2 at the latest. Only what somebody sees is copied, and
// only its pages' entries are looked up.
#include "ops/attention.h"
#include <string.h>

static bool seen(const struct fovea_attention_chunk *chunk, size_t j)
{
    return chunk->visible == NULL || chunk->visible[j] != 0;
}

// Whether somebody sees one of the 16 keys of j's panel.
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

void fovea_attention_page(struct fovea_attention_view *view, size_t key)
{
    const struct fovea_attention_tile *const tile = view->tile;
    const struct fovea_attention_layout *const plan = tile->plan;
    const struct fovea_attention_desc *const d = &plan->desc;
    struct fovea_attention_chunk *const chunk = &view->chunk;
    const uint32_t *const table = tile->args->pages + tile->batch * tile->args->pages_batch;
    const float *const k = tile->args->k + tile->kv_head * tile->k.head;
    const float *const v = tile->args->v + tile->kv_head * tile->v.head;
    const bool panels = d->k_layout == FOVEA_K_PANELS;
    const size_t k_row = panels ? d->qk_dim : d->k.row, size = d->page_keys;
    if (size >= FOVEA_CHUNK) {
        const size_t page = table[key / size];
        chunk->k = k + page * tile->k.batch + key % size * k_row;
        chunk->v = v + page * tile->v.batch + key % size * d->v.row;
        return;
    }
    float *const k_dense = chunk->scratch + plan->pages_at;
    float *const v_dense = k_dense + FOVEA_CHUNK * d->qk_dim;
    for (size_t j = 0; j < chunk->keys; j++) {
        const size_t at = (key + j) % size;
        if (panels && j % FOVEA_PANEL == 0 && panel_seen(chunk, j)) {
            memcpy(k_dense + j * d->qk_dim, k + table[(key + j) / size] * tile->k.batch + at * k_row,
                   FOVEA_PANEL * d->qk_dim * sizeof *k);
        }
        if (seen(chunk, j)) {
            const size_t page = table[(key + j) / size];
            memcpy(v_dense + j * d->v_dim, v + page * tile->v.batch + at * d->v.row, d->v_dim * sizeof *v);
            if (!panels) {
                memcpy(k_dense + j * d->qk_dim, k + page * tile->k.batch + at * k_row, d->qk_dim * sizeof *k);
            }
        }
    }
    chunk->far = 0;
    chunk->k = k_dense;
    chunk->v = v_dense;
    chunk->k_row = panels ? 0 : (ptrdiff_t)d->qk_dim;
    chunk->v_row = (ptrdiff_t)d->v_dim;
}

struct fovea_attention_args fovea_attention_entry(const struct fovea_attention_layout *plan,
                                                  const struct fovea_attention_args *args, size_t b,
                                                  size_t *batch_strides)
{
    struct fovea_attention_desc call = fovea_attention_call(plan, args);
    struct fovea_attention_args entry = *args;
    const size_t first = args->q_starts[b];
    entry.batch = 1;
    entry.q_len = args->q_starts[b + 1] - first;
    if (entry.q_len != 0) {
        entry.q += first * call.q.row;
        entry.out = args->out != NULL ? args->out + first * call.out.row : NULL;
        entry.lse = args->lse != NULL ? args->lse + first * call.heads : NULL;
        entry.entropy = args->entropy != NULL ? args->entropy + first * call.heads : NULL;
        entry.max_weight = args->max_weight != NULL ? args->max_weight + first * call.heads : NULL;
        entry.max_key = args->max_key != NULL ? args->max_key + first * call.heads : NULL;
    }
    if (args->kv_starts != NULL) {
        const size_t first_key = args->kv_starts[b];
        entry.kv_len = args->kv_starts[b + 1] - first_key;
        if (entry.kv_len != 0) {
            entry.k += first_key * call.k.row;
            entry.v += first_key * call.v.row;
        }
        call.k.batch = call.v.batch = 0;
    }
    batch_strides[0] = batch_strides[3] = 0;
    batch_strides[1] = call.k.batch;
    batch_strides[2] = call.v.batch;
    entry.batch_strides = batch_strides;
    return entry;
}

// Whether these are ascending and at most `most` apart.
static bool ascending(const uint32_t *starts, size_t batch, size_t most)
{
    for (size_t b = 0; b < batch; b++) {
        if (starts[b + 1] < starts[b] || starts[b + 1] - starts[b] > most) {
            return false;
        }
    }
    return true;
}

// Whether so many rows of a tensor fit in memory.
static bool rows_fit(size_t rows, size_t row, size_t heads, size_t head, size_t dim)
{
    size_t a = 0, b = 0;
    return fovea_mul(rows, row, &a) && fovea_mul(heads, head, &b) && fovea_add(a, b, &a) && fovea_add(a, dim, &a) &&
           fovea_mul(a, sizeof(float), &a);
}

enum fovea_status fovea_attention_check_ragged(const struct fovea_attention_layout *plan,
                                               const struct fovea_attention_args *args)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    if (args->q_starts == NULL) {
        FOVEA_CHECK(args->kv_starts == NULL, FOVEA_ERR_NULL);
        return FOVEA_OK;
    }
    FOVEA_CHECK(ascending(args->q_starts, args->batch, args->q_len), FOVEA_ERR_SHAPE);
    const size_t rows = args->q_starts[args->batch];
    FOVEA_CHECK(rows_fit(rows, d->q.row, d->heads, d->q.head, d->qk_dim) &&
                    rows_fit(rows, d->out.row, d->heads, d->out.head, d->v_dim),
                FOVEA_ERR_OVERFLOW);
    if (args->kv_starts != NULL) {
        FOVEA_CHECK(d->page_keys == 0 && d->k_layout == FOVEA_K_ROWS, FOVEA_ERR_UNSUPPORTED);
        FOVEA_CHECK(args->kv_begin == 0, FOVEA_ERR_UNSUPPORTED);
        FOVEA_CHECK(ascending(args->kv_starts, args->batch, args->kv_len), FOVEA_ERR_SHAPE);
        const size_t keys = args->kv_starts[args->batch];
        FOVEA_CHECK(rows_fit(keys, d->k.row, d->kv_heads, d->k.head, d->qk_dim) &&
                        rows_fit(keys, d->v.row, d->kv_heads, d->v.head, d->v_dim),
                    FOVEA_ERR_OVERFLOW);
    }
    return FOVEA_OK;
}
