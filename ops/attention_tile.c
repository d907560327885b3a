// SPDX-License-Identifier: Apache-2.0
// ops/attention_tile.c - the rows of a tile, what they see by position, and the walk over one split of the keys.
//
// Causal order, windows and counts are a range of keys for each row, so whole splits and chunks are passed over unseen;
// what is left of the masks is attention_mask.c's.
#include "ops/attention.h"
#include <math.h>
#include <string.h>

struct fovea_attention_desc fovea_attention_call(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_args *args)
{
    struct fovea_attention_desc call = plan->desc;
    call.batch = args->batch;
    call.q_len = args->q_len;
    call.kv_len = args->kv_len;
    if (args->batch_strides != NULL) {
        call.q.batch = args->batch_strides[0];
        call.k.batch = args->batch_strides[1];
        call.v.batch = args->batch_strides[2];
        call.out.batch = args->batch_strides[3];
    }
    return call;
}

size_t fovea_attention_offset(const struct fovea_attention_tile *tile, struct fovea_strides strides)
{
    const size_t head = tile->kv_head * tile->plan->group + tile->first / tile->args->q_len;
    return tile->batch * strides.batch + head * strides.head + tile->first % tile->args->q_len * strides.row;
}

// Row by row: two divisions for each are 5 % of the time of 8 queries and keys.
void fovea_attention_offsets(const struct fovea_attention_tile *tile, struct fovea_strides strides,
                             size_t offsets[FOVEA_TILE_ROWS_MAX])
{
    const size_t q_len = tile->args->q_len;
    size_t at = fovea_attention_offset(tile, strides), left = q_len - tile->first % q_len;
    for (size_t r = 0; r < tile->rows; r++) {
        offsets[r] = at;
        at += strides.row;
        if (--left == 0) {
            at += strides.head - q_len * strides.row;
            left = q_len;
        }
    }
}

// Where the queries of a batch entry stand. Queries and keys are fewer than 2^32: an offset beyond that hides or shows
// them all, as this one does.
static int64_t offset_of(const struct fovea_attention_args *args, size_t batch)
{
    const int64_t far = UINT32_MAX, offset = args->q_offsets != NULL ? args->q_offsets[batch] : args->q_offset;
    return offset > far ? far : offset < -far ? -far : offset;
}

// Keys [begin, end).
struct range {
    size_t begin, end;
};

// What query i sees, which stands at `position`.
static struct range see_range(const struct fovea_attention_tile *tile, size_t i, int64_t position)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const struct fovea_attention_args *const args = tile->args;
    size_t begin = args->kv_begin, end = args->kv_len;
    // In a layer's call without lengths kv_lens is NULL: all keys count. fovea_attention itself refuses that.
    if (d->kv_len_kind != FOVEA_KV_LEN_ALL && args->kv_lens != NULL) {
        const size_t at =
            d->kv_len_kind == FOVEA_KV_LEN_BATCH ? tile->batch : fovea_attention_first_query(args, tile->batch) + i;
        end = fovea_min(end, args->kv_lens[at]);
    }
    const size_t right = d->causal ? 0 : d->window_right, far = (size_t)UINT32_MAX * 4; // beyond all positions
    if (right < far) {
        const int64_t last = position + (int64_t)right;
        end = last < 0 ? 0 : fovea_min(end, (size_t)last + 1);
    }
    if (d->window_left < far && position - (int64_t)d->window_left > (int64_t)begin) {
        begin = (size_t)(position - (int64_t)d->window_left);
    }
    return begin < end ? (struct range){begin, end} : (struct range){0, 0};
}

// The list is short and ascending.
bool fovea_attention_lives(const struct fovea_attention_args *args, size_t head)
{
    for (size_t i = 0; args->live_heads != NULL && i < args->live_count; i++) {
        if (args->live_heads[i] == head) {
            return true;
        }
    }
    return args->live_heads == NULL;
}

// The terms that row r has beside its scores.
static void place_terms(struct fovea_attention_tile *tile, size_t r, size_t head, int64_t position)
{
    const struct fovea_attention_args *const args = tile->args;
    tile->query[r] = (uint32_t)position;
    tile->head[r] = (uint32_t)head;
    tile->position[r] = (float)position;
    tile->fall[r] = args->slopes != NULL ? -args->slopes[head] : 0;
    tile->sink[r] = args->sinks != NULL ? args->sinks[head] : -INFINITY;
    if (args->live_heads != NULL && !fovea_attention_lives(args, head)) {
        tile->begin[r] = tile->end[r] = 0;
        tile->sink[r] = -INFINITY;
    }
}

// Where the masks of row r, query i of a head, begin.
static void place_masks(struct fovea_attention_tile *tile, size_t r, size_t head, size_t i)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    if (d->mask) {
        tile->mask[r] = tile->batch * d->mask_batch + head * d->mask_head + i * d->mask_row;
    }
    if (d->bias) {
        tile->bias[r] = tile->batch * d->bias_batch + head * d->bias_head + i * d->bias_row;
    }
    if (d->blocks) {
        tile->blocks[r] = tile->batch * d->blocks_batch + head * d->blocks_head + i / d->block_rows * d->blocks_row;
    }
}

// What each row sees and has; whether all of them see the same keys.
static bool place_rows(struct fovea_attention_tile *tile, size_t head, size_t i)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const struct fovea_attention_args *const args = tile->args;
    const bool alike = !d->causal && d->window_left == FOVEA_WINDOW_ALL && d->window_right == FOVEA_WINDOW_ALL &&
                       d->kv_len_kind != FOVEA_KV_LEN_BATCH_ROW;
    const bool terms = tile->plan->threshold != 0 || d->scoring == FOVEA_SCORING_ADDITIVE || args->slopes != NULL ||
                       args->sinks != NULL || args->live_heads != NULL;
    const bool masks = d->mask || d->bias || d->blocks;
    const int64_t offset = offset_of(args, tile->batch);
    struct range range = {0, 0};
    for (size_t r = 0; r < tile->rows; r++) {
        const int64_t position = (int64_t)i + offset;
        range = r == 0 || !alike ? see_range(tile, i, position) : range;
        tile->begin[r] = range.begin;
        tile->end[r] = range.end;
        if (terms) {
            place_terms(tile, r, head, position);
        }
        if (masks) {
            place_masks(tile, r, head, i);
        }
        if (++i == args->q_len) {
            i = 0;
            head++;
        }
    }
    return alike && args->live_heads == NULL;
}

void fovea_attention_tile(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                          size_t batch, size_t kv_head, size_t first, size_t rows, struct fovea_attention_tile *tile)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const size_t head = first / args->q_len, last_head = (first + rows - 1) / args->q_len;
    tile->plan = plan;
    tile->args = args;
    tile->batch = batch;
    tile->prefill = false;
    tile->kv_head = kv_head;
    tile->q = d->q;
    tile->k = d->k;
    tile->v = d->v;
    tile->out = d->out;
    if (args->batch_strides != NULL) {
        tile->q.batch = args->batch_strides[0];
        tile->k.batch = args->batch_strides[1];
        tile->v.batch = args->batch_strides[2];
        tile->out.batch = args->batch_strides[3];
    }
    tile->first = first;
    tile->rows = rows;
    tile->begin_least = tile->end_least = SIZE_MAX;
    tile->begin_most = tile->end_most = 0;
    tile->one_mask = (d->mask_row == 0 || args->q_len == 1) && (d->mask_head == 0 || head == last_head);
    tile->segments = 0;
    const bool alike = place_rows(tile, kv_head * plan->group + head, first - head * args->q_len);
    for (size_t r = 0; r < (alike ? 1 : rows); r++) {
        tile->begin_most = tile->begin[r] > tile->begin_most ? tile->begin[r] : tile->begin_most;
        tile->end_most = tile->end[r] > tile->end_most ? tile->end[r] : tile->end_most;
        tile->end_least = fovea_min(tile->end_least, tile->end[r]);
        tile->begin_least = tile->end[r] != 0 ? fovea_min(tile->begin_least, tile->begin[r]) : tile->begin_least;
    }
    tile->begin_least = fovea_min(tile->begin_least, tile->end_most);
    if (d->segments) {
        fovea_attention_segments(tile);
    }
}

// All of a state that has seen nothing but its O.
static void clear_rows(const struct fovea_attention_state *state)
{
    for (size_t r = 0; r < fovea_round_up(state->rows, FOVEA_PANEL); r++) {
        state->m[r] = -INFINITY;
        state->l[r] = 0.0f;
        if (state->spread != NULL) {
            state->spread[r] = 0.0f;
            state->top[r] = UINT32_MAX;
        }
    }
}

// O is one block, with its other stride as its pitch.
void fovea_attention_clear(const struct fovea_attention_state *state)
{
    const size_t pitch = (size_t)(state->o_row == 1 ? state->o_col : state->o_row);
    memset(state->o, 0, (state->o_row == 1 ? state->v_dim : state->rows) * pitch * sizeof *state->o);
    clear_rows(state);
}

// The bits of the weights of a chunk that dropout keeps.
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

// Whether K and V of the call are more than is read without fetching ahead; those of a ragged batch, of which this is
// one entry, are taken for that.
static bool is_far(const struct fovea_attention_tile *tile)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const double keys = (double)tile->args->batch * (double)d->kv_heads * (double)tile->args->kv_len;
    return tile->args->q_starts != NULL ||
           fovea_is_far(tile->plan->tuning->near, keys * (double)(d->qk_dim + d->v_dim));
}

void fovea_attention_view(const struct fovea_attention_tile *tile, const float *q, float *scratch,
                          struct fovea_attention_view *view)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    view->tile = tile;
    view->chunk = (struct fovea_attention_chunk){
        .qk_dim = d->qk_dim,
        .q = q,
        .q_row = (ptrdiff_t)d->qk_dim,
        .k_row = d->k_layout == FOVEA_K_PANELS ? 0 : (ptrdiff_t)d->k.row,
        .v_row = (ptrdiff_t)d->v.row,
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
        .far = is_far(tile),
        .again = tile->rows <= tile->plan->tuning->again,
    };
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
    if (d->page_keys != 0) {
        fovea_attention_page(view, key);
    } else {
        const size_t k_row = chunk->k_row == 0 ? d->qk_dim : d->k.row; // in whole panels a key takes qk_dim elements
        const size_t at = key - args->kv_begin;
        chunk->k = args->k + tile->batch * tile->k.batch + tile->kv_head * tile->k.head + at * k_row;
        chunk->v = args->v + tile->batch * tile->v.batch + tile->kv_head * tile->v.head + at * d->v.row;
        // Keys of a head that lie side by side, and another whole chunk of them.
        const bool dense = k_row == d->qk_dim && chunk->keys == FOVEA_CHUNK;
        const bool more = chunk->far && dense && key + 2 * FOVEA_CHUNK <= tile->end_most;
        chunk->k_ahead = more ? chunk->k + FOVEA_CHUNK * k_row : NULL;
    }
    for (size_t r = 0; d->bias && r < tile->rows; r++) {
        view->bias[r] = args->bias + tile->bias[r] + key * d->bias_key;
    }
    if (chunk->keep != NULL) { // four keys share their random words
        draw_kept(tile, key - key % 4, chunk->keys + key % 4, view->keep);
        chunk->keep = view->keep + key % 4;
    }
    return true;
}

// K of the chunk behind the view's where the next step reads all of it, and all rows see it; NULL where that is not
// known without asking a mask.
static const float *next_of(const struct fovea_attention_view *view, size_t end)
{
    const struct fovea_attention_tile *const tile = view->tile;
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const struct fovea_attention_chunk *const chunk = &view->chunk;
    const size_t next = chunk->key + FOVEA_CHUNK, k_row = chunk->k_row == 0 ? d->qk_dim : d->k.row;
    const bool masks = d->mask || d->blocks || d->segments || d->page_keys != 0 || chunk->additive != NULL;
    const bool all = next >= tile->begin_most && next + FOVEA_CHUNK <= fovea_min(end, tile->end_least);
    return !masks && all && chunk->far && chunk->keys == FOVEA_CHUNK ? chunk->k + FOVEA_CHUNK * k_row : NULL;
}

bool fovea_attention_step(struct fovea_attention_part *part, size_t key, size_t end)
{
    struct fovea_attention_view view;
    fovea_attention_view(part->tile, part->q, part->scratch, &view);
    end = fovea_min(end, part->tile->end_most);
    if (key >= end || !fovea_attention_look(&view, key, end)) {
        return false;
    }
    view.chunk.state = part->state;
    view.chunk.fresh = part->fresh;
    if (part->fresh) {
        clear_rows(&part->state);
    }
    part->fresh = false;
    view.chunk.copy = part->copy;
    view.chunk.fetch = part->fetch;
    view.chunk.k_next = part->alone ? next_of(&view, end) : NULL;
    view.chunk.begun = &part->begun;
    fovea_attention_kernel_of(part->tile)->run(&view.chunk);
    return true;
}

bool fovea_attention_split(struct fovea_attention_part *part, size_t split)
{
    const struct fovea_attention_tile *const tile = part->tile;
    const size_t end = fovea_min(tile->end_most, (split + 1) * FOVEA_SPLIT);
    size_t key = tile->begin_least - tile->begin_least % FOVEA_CHUNK;
    key = key > split * FOVEA_SPLIT ? key : split * FOVEA_SPLIT;
    key = key > tile->args->kv_begin ? key : tile->args->kv_begin;
    bool any = false;
    for (; key < end; key += FOVEA_CHUNK - key % FOVEA_CHUNK) {
        any |= fovea_attention_step(part, key, end);
    }
    return any;
}
