// SPDX-License-Identifier: Apache-2.0
// ops/attention_tile.c - which keys the rows of a tile see, and the walk over one split of them.
//
// Chunks are classed before anything of K or V is read. Causal order and key counts are an end for each row: chunks
// past all ends are skipped, chunks before all ends are full. For the others, and for all where there is a boolean
// mask, one word for each key says which rows see it.
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

size_t fovea_attention_offset(const struct fovea_attention_tile *tile, struct fovea_strides strides, size_t r)
{
    const size_t row = tile->first + r, head = tile->kv_head * tile->plan->group + row / tile->args->q_len;
    return tile->batch * strides.batch + head * strides.head + row % tile->args->q_len * strides.row;
}

// Query i sees keys [0, end), but for args.mask.
static size_t end_of(const struct fovea_attention_desc *desc, const struct fovea_attention_args *args, size_t batch,
                     size_t i)
{
    size_t end = args->kv_len;
    // In a layer's call without lengths kv_lens is NULL: all keys count. fovea_attention itself refuses that.
    if (desc->kv_len_kind != FOVEA_KV_LEN_ALL && args->kv_lens != NULL) {
        const size_t at = desc->kv_len_kind == FOVEA_KV_LEN_BATCH ? batch : batch * args->q_len + i;
        end = fovea_min(end, args->kv_lens[at]);
    }
    if (desc->causal) {
        // Queries and keys are fewer than 2^32: an offset beyond that hides or shows them all, as this one does.
        const int64_t far = UINT32_MAX, offset = args->q_offsets != NULL ? args->q_offsets[batch] : args->q_offset;
        const int64_t last = (int64_t)i + (offset > far ? far : offset < -far ? -far : offset);
        end = last < 0 ? 0 : fovea_min(end, (size_t)last + 1);
    }
    return end;
}

struct fovea_attention_tile fovea_attention_tile(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_args *args, size_t batch, size_t kv_head,
                                                 size_t first, size_t rows)
{
    const struct fovea_attention_desc *const d = &plan->desc, call = fovea_attention_call(plan, args);
    const size_t head = first / args->q_len, last_head = (first + rows - 1) / args->q_len;
    struct fovea_attention_tile tile = {
        .plan = plan,
        .args = args,
        .batch = batch,
        .kv_head = kv_head,
        .q = call.q,
        .k = call.k,
        .v = call.v,
        .out = call.out,
        .first = first,
        .rows = rows,
        .least = SIZE_MAX,
        .one_mask = (d->mask_row == 0 || args->q_len == 1) && (d->mask_head == 0 || head == last_head),
    };
    const struct fovea_strides mask = {d->mask_batch, d->mask_head, d->mask_row};
    const struct fovea_strides bias = {d->bias_batch, d->bias_head, d->bias_row};
    for (size_t r = 0; r < rows; r++) {
        tile.end[r] = end_of(d, args, batch, (first + r) % args->q_len);
        tile.least = fovea_min(tile.least, tile.end[r]);
        tile.most = tile.end[r] > tile.most ? tile.end[r] : tile.most;
        tile.mask[r] = fovea_attention_offset(&tile, mask, r);
        tile.bias[r] = fovea_attention_offset(&tile, bias, r);
    }
    return tile;
}

// visible[j] = the rows whose end lies behind key + j. A row's bit first stands in the word of its end.
static void see_ends(const struct fovea_attention_tile *tile, size_t key, size_t keys, uint64_t *visible)
{
    memset(visible, 0, keys * sizeof *visible);
    uint64_t rows = 0;
    for (size_t r = 0; r < tile->rows; r++) {
        if (tile->end[r] > key) {
            rows |= UINT64_C(1) << r;
            if (tile->end[r] - key < keys) {
                visible[tile->end[r] - key] |= UINT64_C(1) << r;
            }
        }
    }
    for (size_t j = 0; j < keys; j++) {
        rows &= ~visible[j];
        visible[j] = rows;
    }
}

// Eight mask bytes, of which n exist, as bytes of 0 and 1.
static uint64_t mask_bytes(const uint8_t *mask, size_t stride, size_t n)
{
    uint64_t x = 0;
    if (n == sizeof x && stride == 1) {
        memcpy(&x, mask, sizeof x);
    } else {
        uint8_t byte[sizeof x] = {0};
        for (size_t i = 0; i < n; i++) {
            byte[i] = mask[i * stride];
        }
        memcpy(&x, byte, sizeof x);
    }
    const uint64_t low = UINT64_C(0x7F7F7F7F7F7F7F7F);
    return (((x & low) + low) | x) >> 7 & UINT64_C(0x0101010101010101);
}

// Clears the bits of what args.mask hides. Blocks of 8 rows x 8 keys are transposed, bytes to bits, in one word: about
// one operation for each pair, where a byte at a time would cost as much as a third of the attention itself.
static void hide_masked(const struct fovea_attention_tile *tile, size_t key, size_t keys, uint64_t *visible)
{
    enum { BLOCK = 8 };
    const size_t stride = tile->plan->desc.mask_key, rows = tile->one_mask ? 1 : tile->rows;
    for (size_t j = 0; j < keys; j += BLOCK) {
        const size_t n = fovea_min(BLOCK, keys - j);
        uint64_t attend[BLOCK] = {0};
        for (size_t r = 0; r < rows; r += BLOCK) {
            uint64_t block = 0; // bit s of byte i: row r + s, key j + i
            for (size_t s = 0; s < BLOCK && r + s < rows; s++) {
                block |= mask_bytes(tile->args->mask + tile->mask[r + s] + (key + j) * stride, stride, n) << s;
            }
            uint8_t byte[BLOCK];
            memcpy(byte, &block, sizeof byte);
            for (size_t i = 0; i < BLOCK; i++) {
                attend[i] |= (uint64_t)byte[i] << r;
            }
        }
        for (size_t i = 0; i < n; i++) {
            visible[j + i] &= tile->one_mask ? 0 - attend[i] : attend[i];
        }
    }
}

// Sets bit r of visible[j] where row r sees key + j. False where nobody sees any of the keys.
static bool see(const struct fovea_attention_tile *tile, size_t key, size_t keys, uint64_t *visible)
{
    see_ends(tile, key, keys, visible);
    if (tile->plan->desc.mask) {
        hide_masked(tile, key, keys, visible);
    }
    uint64_t any = 0;
    for (size_t j = 0; j < keys; j++) {
        any |= visible[j];
    }
    return any != 0;
}

// Makes the state of rows that have seen nothing. O is one block, with its other stride as its pitch.
static void clear(const struct fovea_attention_state *state)
{
    const size_t pitch = (size_t)(state->o_row == 1 ? state->o_col : state->o_row);
    memset(state->o, 0, (state->o_row == 1 ? state->v_dim : state->rows) * pitch * sizeof *state->o);
    for (size_t r = 0; r < fovea_round_up(state->rows, FOVEA_PANEL); r++) {
        state->m[r] = -INFINITY;
        state->l[r] = 0.0f;
    }
}

void fovea_attention_split(const struct fovea_attention_tile *tile, const struct fovea_attention_kernel *kernel,
                           const float *q, size_t split, const struct fovea_attention_state *state, float *scratch)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const struct fovea_attention_args *const args = tile->args;
    const bool panels = d->k_layout == FOVEA_K_PANELS;
    const size_t k_row = panels ? d->qk_dim : d->k.row; // in whole panels a key takes qk_dim elements
    const size_t k_head = tile->batch * tile->k.batch + tile->kv_head * tile->k.head;
    const size_t v_head = tile->batch * tile->v.batch + tile->kv_head * tile->v.head;
    uint64_t visible[FOVEA_CHUNK];
    const float *bias[FOVEA_TILE_ROWS_MAX];
    struct fovea_attention_chunk chunk = {
        .qk_dim = d->qk_dim,
        .q = q,
        .q_row = (ptrdiff_t)d->qk_dim,
        .k_row = panels ? 0 : (ptrdiff_t)d->k.row,
        .v_row = (ptrdiff_t)d->v.row,
        .bias = d->bias ? bias : NULL,
        .bias_key = (ptrdiff_t)d->bias_key,
        .state = *state,
        .scratch = scratch,
    };
    clear(state);
    const size_t end = fovea_min(tile->most, (split + 1) * FOVEA_SPLIT);
    for (size_t key = split * FOVEA_SPLIT; key < end; key += FOVEA_CHUNK) {
        chunk.keys = fovea_min(FOVEA_CHUNK, end - key);
        const bool full = !d->mask && key + chunk.keys <= tile->least;
        if (!full && !see(tile, key, chunk.keys, visible)) {
            continue;
        }
        chunk.visible = full ? NULL : visible;
        chunk.k = args->k + k_head + key * k_row;
        chunk.v = args->v + v_head + key * d->v.row;
        for (size_t r = 0; d->bias && r < tile->rows; r++) {
            bias[r] = args->bias + tile->bias[r] + key * d->bias_key;
        }
        kernel->run(&chunk);
    }
}
