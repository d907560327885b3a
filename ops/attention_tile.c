// SPDX-License-Identifier: Apache-2.0
// ops/attention_tile.c - the rows of a tile, and what they see by position.
//
// Causal order, windows and counts are a range of keys for each row, so whole splits and chunks are passed over unseen;
// what is left of the masks is attention_mask.c's.
#include "ops/attention.h"
#include <math.h>

// The batch strides of a call that has its own.
static void place_batches(const struct fovea_attention_args *args, struct fovea_strides *q, struct fovea_strides *k,
                          struct fovea_strides *v, struct fovea_strides *out)
{
    struct fovea_strides *const all[] = {q, k, v, out};
    for (size_t i = 0; i < 4 && args->batch_strides != NULL; i++) {
        all[i]->batch = args->batch_strides[i];
    }
}

struct fovea_attention_desc fovea_attention_call(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_args *args)
{
    struct fovea_attention_desc call = plan->desc;
    call.batch = args->batch;
    call.q_len = args->q_len;
    call.kv_len = args->kv_len;
    place_batches(args, &call.q, &call.k, &call.v, &call.out);
    return call;
}

size_t fovea_attention_offset(const struct fovea_attention_tile *tile, struct fovea_strides strides)
{
    return tile->batch * strides.batch + tile->first_head * strides.head + tile->first_query * strides.row;
}

// Row by row, and none here divides: two divisions for each row are 5 % of the time of 8 queries and keys.
void fovea_attention_offsets(const struct fovea_attention_tile *tile, struct fovea_strides strides,
                             size_t offsets[FOVEA_TILE_ROWS_MAX])
{
    const size_t q_len = tile->args->q_len;
    size_t at = fovea_attention_offset(tile, strides), left = q_len - tile->first_query;
    for (size_t r = 0; r < tile->rows; r++) {
        offsets[r] = at;
        at += strides.row;
        if (--left == 0) {
            at += strides.head - q_len * strides.row;
            left = q_len;
        }
    }
}

_Static_assert(sizeof(size_t) == sizeof(int64_t), "windows are compared with positions");

// Where the queries of a batch entry stand.
static int64_t offset_of(const struct fovea_attention_args *args, size_t batch)
{
    return args->q_offsets != NULL ? args->q_offsets[batch] : args->q_offset;
}

// The same, clamped to +-2^62: a query's number can be added to it.
static int64_t near_offset_of(const struct fovea_attention_args *args, size_t batch)
{
    const int64_t most = INT64_C(1) << 62, offset = offset_of(args, batch);
    return offset > most ? most : offset < -most ? -most : offset;
}

// What query i of a batch entry sees, which stands at `position`.
static struct fovea_attention_range see_range(const struct fovea_attention_desc *d,
                                              const struct fovea_attention_args *args, size_t batch, size_t i,
                                              int64_t position)
{
    size_t begin = args->kv_begin, end = args->kv_len;
    if (args->kv_past != NULL) {
        const size_t past = fovea_min(args->kv_past[batch], end);
        end = past + fovea_min(args->kv_new_queries ? args->q_len : args->kv_new, end - past);
    }
    // In a layer's call without lengths kv_lens is NULL: all keys count. fovea_attention itself refuses that.
    if (d->kv_len_kind != FOVEA_KV_LEN_ALL && args->kv_lens != NULL) {
        const size_t at = d->kv_len_kind == FOVEA_KV_LEN_BATCH ? batch : fovea_attention_first_query(args, batch) + i;
        end = fovea_min(end, args->kv_lens[at]);
    }
    // The window is keys [position - left, position + right]. Each sum is taken where it cannot wrap: a window may be
    // anything up to SIZE_MAX, and a position anything up to 2^62 + 2^32 on either side of 0.
    const size_t left = d->window_left, right = d->causal ? 0 : d->window_right;
    const size_t before = position < 0 ? (size_t)-position : 0, after = position > 0 ? (size_t)position : 0;
    if (right < before) {
        return (struct fovea_attention_range){0, 0};
    }
    if (right - before < end && after < end) {
        end = fovea_min(end, after + (right - before) + 1);
    }
    if (after > left) {
        begin = fovea_max(begin, after - left);
    }
    return begin < end ? (struct fovea_attention_range){begin, end} : (struct fovea_attention_range){0, 0};
}

struct fovea_attention_range fovea_attention_seen(const struct fovea_attention_layout *plan,
                                                  const struct fovea_attention_args *args, size_t batch, size_t i)
{
    return see_range(&plan->desc, args, batch, i, near_offset_of(args, batch) + (int64_t)i);
}

// The list is short and ascending.
bool fovea_attention_lives(const struct fovea_attention_args *args, size_t head)
{
    if (args->live_heads == NULL) {
        return true;
    }
    for (size_t i = 0; i < args->live_count; i++) {
        if (args->live_heads[i] == head) {
            return true;
        }
    }
    return false;
}

// The terms that row r, query i of a head, has beside its scores.
static void place_terms(struct fovea_attention_tile *tile, size_t r, size_t head, size_t i, int64_t position)
{
    const struct fovea_attention_args *const args = tile->args;
    tile->query[r] = (uint32_t)((uint64_t)i + (uint64_t)offset_of(args, tile->batch));
    tile->head[r] = (uint32_t)head;
    tile->position[r] = (float)position;
    tile->fall[r] = args->slopes != NULL ? -args->slopes[head] : 0;
    tile->sink[r] = args->sinks != NULL ? args->sinks[head] : -INFINITY;
    if (!fovea_attention_lives(args, head)) {
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
    const int64_t offset = near_offset_of(args, tile->batch);
    struct fovea_attention_range range = {0, 0};
    for (size_t r = 0; r < tile->rows; r++) {
        const int64_t position = (int64_t)i + offset;
        range = r == 0 || !alike ? see_range(d, args, tile->batch, i, position) : range;
        tile->begin[r] = range.begin;
        tile->end[r] = range.end;
        if (terms) {
            place_terms(tile, r, head, i, position);
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
                          const struct fovea_attention_rows *at, struct fovea_attention_tile *tile)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const size_t rows = at->rows, head = at->first / args->q_len, query = at->first - head * args->q_len;
    tile->plan = plan;
    tile->args = args;
    tile->batch = at->batch;
    tile->kv_head = at->kv_head;
    tile->prefill = at->prefill;
    tile->q = d->q;
    tile->k = d->k;
    tile->v = d->v;
    tile->out = d->out;
    place_batches(args, &tile->q, &tile->k, &tile->v, &tile->out);
    tile->first = at->first;
    tile->first_head = at->kv_head * plan->group + head;
    tile->first_query = query;
    tile->rows = rows;
    tile->begin_least = tile->end_least = SIZE_MAX;
    tile->begin_most = tile->end_most = 0;
    tile->one_mask = (d->mask_row == 0 || args->q_len == 1) && (d->mask_head == 0 || query + rows <= args->q_len);
    tile->segments = 0;
    const bool alike = place_rows(tile, tile->first_head, query);
    for (size_t r = 0; r < (alike ? 1 : rows); r++) {
        tile->begin_most = fovea_max(tile->begin_most, tile->begin[r]);
        tile->end_most = fovea_max(tile->end_most, tile->end[r]);
        tile->end_least = fovea_min(tile->end_least, tile->end[r]);
        tile->begin_least = tile->end[r] != 0 ? fovea_min(tile->begin_least, tile->begin[r]) : tile->begin_least;
    }
    tile->begin_least = fovea_min(tile->begin_least, tile->end_most);
    if (d->segments) {
        fovea_attention_segments(tile);
    }
}
