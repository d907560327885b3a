// SPDX-License-Identifier: Apache-2.0
// ops/attention_prefill.c - a task of prefill: some tiles of queries go through the keys of a head together.
//
// Each chunk of keys passes all tiles before the next one comes, so K and V are copied to where the kernel reads them
// best once for up to 16 tiles (768 queries), and what the task and the one behind it will touch next is fetched
// meanwhile: rows of Q, K, V and the output lie a layer's width apart, which no hardware prefetcher foresees, and a
// tile of 48 queries would wait for memory as long as a quarter of its arithmetic takes (S = 128, d = 64).
#include "ops/attention.h"
#include <string.h>

void fovea_attention_fetch(struct fovea_attention_fetches *fetches)
{
    enum { STEP = FOVEA_FETCH_LINES * FOVEA_PANEL };
    const struct fovea_attention_desc *const d = &fetches->plan->desc;
    const size_t dim = d->qk_dim > d->v_dim ? d->qk_dim : d->v_dim, pointers = 2 * fovea_ceil_div(dim, STEP);
    struct fovea_attention_fetch *f = fetches->next;
    size_t count = 0;
    for (size_t n = fetches->each; n != 0 && f->rows != 0 && count + pointers <= FOVEA_ATTENTION_POINTERS; n--) {
        for (size_t c = 0; c < dim; c += STEP) {
            fetches->pointers[count++] = f->a + c;
            fetches->pointers[count++] = f->b + c;
        }
        f->a += f->a_row;
        f->b += f->b_row;
        f += --f->rows == 0;
    }
    fetches->next = f;
    fetches->chunk = (struct fovea_fetch_list){fetches->pointers, count};
}

// Keys and values [key, key + rows) of a head.
static struct fovea_attention_fetch keys_of(const struct fovea_attention_tile *tile, size_t batch, size_t kv_head,
                                            size_t key, size_t rows)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    const struct fovea_attention_args *const args = tile->args;
    const size_t k_row = d->k_layout == FOVEA_K_PANELS ? d->qk_dim : d->k.row, at = key - args->kv_begin;
    return (struct fovea_attention_fetch){
        .a = args->k + batch * tile->k.batch + kv_head * tile->k.head + at * k_row,
        .b = args->v + batch * tile->v.batch + kv_head * tile->v.head + at * d->v.row,
        .a_row = (ptrdiff_t)k_row,
        .b_row = (ptrdiff_t)d->v.row,
        .rows = rows,
    };
}

// What a task has to fetch: its later chunks; the queries of the next task, and its own output; the next task's keys.
// tiles: those of the task, `count` of them from number `index` on; they see keys of [begin, end).
static void plan_fetches(const struct fovea_attention_grid *grid, const struct fovea_attention_tile *tiles,
                         size_t count, size_t index, size_t begin, size_t end, struct fovea_attention_fetches *fetches)
{
    const struct fovea_attention_layout *const plan = tiles->plan;
    const struct fovea_attention_args *const args = tiles->args;
    const size_t all = args->batch * grid->heads * grid->tiles, later = fovea_min(index + count, all - 1);
    const struct fovea_attention_rows next = fovea_attention_find(plan, args, grid, later);
    const size_t second = begin - begin % FOVEA_CHUNK + FOVEA_CHUNK;
    const bool linear = plan->desc.page_keys == 0;
    struct fovea_attention_fetch *f = fetches->list;
    if (linear && second < end) {
        *f++ = keys_of(tiles, tiles->batch, tiles->kv_head, second, end - second);
    }
    const size_t next_count = fovea_min(grid->each, grid->tiles - later % grid->tiles);
    size_t rest = 0; // rows that are not of later chunks
    for (size_t t = 0; t < count || t < next_count; t++) {
        const struct fovea_attention_tile *const own = &tiles[fovea_min(t, count - 1)];
        const struct fovea_attention_rows at =
            fovea_attention_find(plan, args, grid, later + fovea_min(t, next_count - 1));
        const size_t head = at.kv_head * plan->group + at.first / args->q_len;
        *f++ = (struct fovea_attention_fetch){
            .a = args->q + at.batch * tiles->q.batch + head * tiles->q.head + at.first % args->q_len * tiles->q.row,
            .b = args->out + fovea_attention_offset(own, own->out, 0),
            .a_row = (ptrdiff_t)tiles->q.row,
            .b_row = (ptrdiff_t)tiles->out.row,
            .rows = fovea_min(at.rows, own->rows),
        };
        rest += f[-1].rows;
    }
    if (linear && (next.batch != tiles->batch || next.kv_head != tiles->kv_head)) {
        *f++ = keys_of(tiles, next.batch, next.kv_head, args->kv_begin, fovea_min(FOVEA_CHUNK, args->kv_len));
        rest += f[-1].rows;
    }
    f->rows = 0;
    fetches->plan = plan;
    fetches->next = fetches->list;
    fetches->each = (second < end ? FOVEA_CHUNK : 0) + fovea_ceil_div(rest, fovea_ceil_div(end - begin, FOVEA_CHUNK));
}

// The end of a tile: O, LSE and statistics of its state, which holds something if `any`.
static void write_tile(const struct fovea_attention_tile *tile, const struct fovea_attention_state *state, bool any)
{
    const struct fovea_kernels *const kernels = tile->plan->kernels;
    if (!any) {
        fovea_attention_clear(state);
    }
    fovea_attention_finish(tile, state);
    kernels->transpose.run(state->v_dim, tile->rows, 1.0f, state->o, state->o_col,
                           tile->args->out + fovea_attention_offset(tile, tile->out, 0), (ptrdiff_t)tile->out.row);
}

void fovea_attention_prefill(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                             const struct fovea_attention_grid *grid, float *scratch, uint32_t task)
{
    const size_t tasks = fovea_ceil_div(grid->tiles, grid->each), first = task % tasks * grid->each;
    const size_t count = fovea_min(grid->each, grid->tiles - first), index = task / tasks * grid->tiles + first;
    struct fovea_attention_tile *const tiles = (struct fovea_attention_tile *)(void *)(scratch + plan->tiles_at);
    struct fovea_attention_part parts[FOVEA_ATTENTION_TILES_MAX];
    struct fovea_attention_state total[FOVEA_ATTENTION_TILES_MAX], next[FOVEA_ATTENTION_TILES_MAX];
    bool any[FOVEA_ATTENTION_TILES_MAX] = {false};
    size_t begin = SIZE_MAX, end = 0;
    for (size_t t = 0; t < count; t++) {
        float *const q = scratch + plan->q_at + t * plan->q_floats;
        float *const states = scratch + plan->states_at + 2 * t * plan->state_floats;
        fovea_attention_place(plan, args, grid, index + t, &tiles[t]);
        total[t] = fovea_attention_call_state(plan, grid, states, tiles[t].rows);
        next[t] = fovea_attention_call_state(plan, grid, states + plan->state_floats, tiles[t].rows);
        fovea_attention_queries(&tiles[t], true, q);
        parts[t] = (struct fovea_attention_part){.tile = &tiles[t], .q = q};
        begin = fovea_min(begin, tiles[t].begin_least);
        end = tiles[t].end_most > end ? tiles[t].end_most : end;
    }
    float *const keys = scratch + plan->copy_at;
    struct fovea_attention_copy copy = {.k = keys, .v = keys + FOVEA_CHUNK * plan->desc.qk_dim};
    struct fovea_attention_fetches fetches;
    struct fovea_attention_walk walk = {.kernel = &plan->kernels->attention_prefill,
                                        .parts = parts,
                                        .count = count,
                                        .scratch = scratch,
                                        .copy = count > 1 ? &copy : NULL};
    if (begin < end) {
        plan_fetches(grid, tiles, count, index, begin, end, &fetches);
        fetches.pointers = (const float **)(void *)(scratch + plan->pointers_at);
        walk.fetches = &fetches;
    }
    for (size_t split = begin / FOVEA_SPLIT; split * FOVEA_SPLIT < end; split++) {
        for (size_t t = 0; t < count; t++) {
            parts[t].state = any[t] ? next[t] : total[t];
        }
        fovea_attention_split(&walk, split, true);
        for (size_t t = 0; t < count; t++) {
            if (parts[t].any && any[t]) {
                plan->kernels->attention_merge.run(&total[t], &next[t]);
            }
            any[t] |= parts[t].any;
        }
    }
    for (size_t t = 0; t < count; t++) {
        write_tile(&tiles[t], &total[t], any[t]);
    }
}
