// SPDX-License-Identifier: Apache-2.0
// ops/attention_view.c - runs a tile over its keys, split by split and chunk by chunk; unseen chunks are skipped.
#include "ops/attention.h"

// Draws the bits of the weights of a chunk that dropout keeps.
static void draw_kept(const struct fovea_attention_tile *tile, size_t key, size_t keys, uint64_t *keep)
{
    const uint64_t seed = tile->args->seed;
    const struct fovea_attention_keep weights = {
        .seed = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .batch = (uint32_t)tile->batch,
        .key = (uint32_t)key,
        .rows = tile->rows,
        .keys = keys,
        .query = tile->query,
        .head = tile->head,
        .threshold = tile->plan->threshold,
    };
    tile->plan->kernels->attention_keep.run(&weights, keep);
}

// What decoding has beside the chunk.
static void begin_decode(const struct fovea_attention_tile *tile, struct fovea_decode_chunk *decode)
{
    const bool far = fovea_attention_decode_is_far(tile->plan, tile->args);
    const bool in_case = !far && fovea_attention_is_busy(tile->plan, tile->rows);
    const enum fovea_attention_twice twice = fovea_attention_asks_twice(tile->plan, tile->rows);
    decode->q_row = (ptrdiff_t)tile->plan->desc.qk_dim;
    decode->hints = (struct fovea_decode_hints){
        .far = far || in_case,
        .in_case = in_case,
        .again = far && twice != FOVEA_TWICE_NONE,
        .whole = far && twice == FOVEA_TWICE_ALL,
        .into = tile->plan->tuning->decode_into,
        .beside = fovea_attention_is_beside(tile->plan, tile->rows),
    };
    decode->blocks = NULL;
    decode->k_next = NULL;
    decode->begun = NULL;
    decode->scores = NULL;
    decode->lse = NULL;
}

void fovea_attention_view(const struct fovea_attention_tile *tile, const float *q, float *scratch,
                          struct fovea_attention_view *view)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    view->tile = tile;
    fovea_attention_matrices(view);
    view->chunk = (struct fovea_attention_chunk){
        .qk_dim = d->qk_dim,
        .q = q,
        .additive = d->scoring == FOVEA_SCORING_ADDITIVE ? view->additive : NULL,
        .softcap = d->softcap,
        .cap_inverse = tile->plan->cap_inverse,
        .falls = tile->args->slopes != NULL ? tile->fall : NULL,
        .positions = tile->position,
        .keep = tile->plan->threshold != 0 && !tile->args->eval ? view->keep : NULL,
        .keep_scale = tile->plan->keep_scale,
        .bias = d->bias ? view->bias : NULL,
        .bias_key = (ptrdiff_t)d->bias_key,
        .scratch = scratch,
    };
    if (tile->prefill) {
        view->prefill.copy = NULL;
        view->prefill.fetch = NULL;
    } else {
        begin_decode(tile, &view->decode);
        view->far = view->decode.hints.far;
    }
    for (size_t r = 0; view->chunk.additive != NULL && r < tile->rows; r++) {
        view->additive[r] = tile->args->additive + tile->head[r] * d->qk_dim;
    }
}

bool fovea_attention_look(struct fovea_attention_view *view, size_t key, size_t end)
{
    const struct fovea_attention_tile *const tile = view->tile;
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const struct fovea_attention_args *const args = tile->args;
    struct fovea_attention_chunk *const chunk = &view->chunk;
    chunk->keys = fovea_min(FOVEA_CHUNK - key % FOVEA_CHUNK, end - key);
    const enum fovea_attention_sight sight = fovea_attention_see(tile, key, chunk->keys, view->visible);
    if (sight == FOVEA_SEE_NOTHING) {
        return false;
    }
    chunk->visible = sight == FOVEA_SEE_ALL ? NULL : view->visible;
    chunk->key = (uint32_t)key;
    fovea_attention_locate(view, key);
    for (size_t r = 0; d->bias && r < tile->rows; r++) {
        view->bias[r] = args->bias + tile->bias[r] + key * d->bias_key;
    }
    if (chunk->keep != NULL) {
        draw_kept(tile, key, chunk->keys, view->keep);
    }
    return true;
}

// K of the chunk after the view's, if the next step reads all of it and all rows see it; NULL if that cannot be known
// without reading a mask.
static const float *next_of(const struct fovea_attention_view *view, size_t end)
{
    const struct fovea_attention_tile *const tile = view->tile;
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const struct fovea_attention_chunk *const chunk = &view->chunk;
    const size_t next = chunk->key + FOVEA_CHUNK, k_row = chunk->k_row == 0 ? d->qk_dim : d->k.row;
    const bool lies =
        d->kv_type == FOVEA_F32 && d->page_keys == 0 && chunk->additive == NULL && chunk->keys == FOVEA_CHUNK;
    const bool all = next + FOVEA_CHUNK <= end && fovea_attention_all_see(tile, next);
    return lies && all ? chunk->k + FOVEA_CHUNK * k_row : NULL;
}

bool fovea_attention_step(struct fovea_attention_sweep *sweep, struct fovea_attention_view *view, size_t key,
                          size_t end)
{
    end = fovea_min(end, sweep->tile->end_most);
    if (key >= end) {
        return false;
    }
    view->dense = sweep->dense;
    if (!fovea_attention_look(view, key, end)) {
        return false;
    }
    view->chunk.state = sweep->state;
    view->chunk.fresh = sweep->fresh;
    if (sweep->fresh) {
        fovea_attention_begin(&sweep->state);
    }
    sweep->fresh = false;
    const struct fovea_kernels *const kernels = sweep->tile->plan->kernels;
    if (sweep->tile->prefill) {
        view->prefill.copy = sweep->prefill.copy;
        view->prefill.fetch = sweep->prefill.fetch;
        if (sweep->prefill.compact != NULL) {
            fovea_attention_compact(view, sweep->prefill.compact);
        }
        kernels->attention_prefill.run(&view->prefill);
    } else {
        struct fovea_decode_chunk *const decode = &view->decode;
        decode->hints.far &= !sweep->decode.follows;
        const bool asks = decode->hints.far || sweep->tile->rows <= kernels->attention_decode.near_rows;
        decode->k_next = sweep->decode.alone && asks ? next_of(view, end) : NULL;
        decode->begun = &sweep->decode.begun;
        view->decode_kernel->run(decode);
    }
    return true;
}

void fovea_attention_split(struct fovea_attention_sweep *sweeps, size_t count, size_t split)
{
    size_t key = SIZE_MAX, end = 0;
    for (size_t i = 0; i < count; i++) { // a tile that sees no key, [0, 0), is only in split 0
        const struct fovea_attention_tile *const tile = sweeps[i].tile;
        key = fovea_min(key, tile->begin_least - tile->begin_least % FOVEA_CHUNK);
        end = fovea_max(end, tile->end_most);
    }
    const size_t first = split * FOVEA_SPLIT, begin = count != 0 ? sweeps->tile->args->kv_begin : 0;
    key = fovea_max(key, fovea_max(first, begin));
    end = fovea_min(end, first + FOVEA_SPLIT);
    struct fovea_attention_view view;
    if (count == 1) {
        fovea_attention_view(sweeps->tile, sweeps->q, sweeps->scratch, &view);
    }
    for (; key < end; key += FOVEA_CHUNK - key % FOVEA_CHUNK) {
        struct fovea_attention_dense dense = {{0}, {0}};
        bool met = false;
        for (size_t i = 0; i < count; i++) {
            if (sweeps[i].prefill.copy != NULL) {
                fovea_attention_copy_anew(sweeps[i].prefill.copy);
            }
            sweeps[i].decode.follows = met;
            sweeps[i].dense = &dense;
            if (count != 1) { // views for all would take 4 KB of L1 each
                fovea_attention_view(sweeps[i].tile, sweeps[i].q, sweeps[i].scratch, &view);
            }
            met |= fovea_attention_step(&sweeps[i], &view, key, end);
        }
    }
}
