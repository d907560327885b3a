// SPDX-License-Identifier: Apache-2.0
// ops/attention_prefill.c - a task of prefill: some tiles of queries that go through the keys of a head together.
//
// All tiles process a chunk of keys before the next chunk begins, so that for all but the first of up to 16 tiles (768
// queries) K and V come from L2, or from a copy that is made once. What is needed next is prefetched during the
// arithmetic: rows of Q, K, V and the output are a layer's width apart, which no hardware prefetcher predicts, and a
// tile would wait for its queries and its output as long as a quarter of its arithmetic takes (128 keys, d = 64).
// Everything is prefetched just in time: at a row stride of 16 KiB, 32 heads of 128, a 1 MiB L2 has room for 64 rows.
#include "ops/attention.h"

struct task {
    const struct fovea_attention_layout *plan;
    const struct fovea_attention_args *args;
    const struct fovea_attention_grid *grid;
    float *scratch;
    size_t index, count;  ///< the first tile, and the number of tiles
    size_t begin, end;    ///< range of keys that some tile sees
    size_t meeting, rank; ///< meeting: prefill tiles that process this chunk and share its prefetches; rank: how many
                          ///< of them are done
    struct fovea_attention_tile *tiles;
    struct fovea_attention_sweep *sweeps;
    bool packed[FOVEA_ATTENTION_TILES_MAX], any[FOVEA_ATTENTION_TILES_MAX]; ///< packed: the tile's queries are packed;
                                                                            ///< any: its state is not empty
    struct fovea_attention_dense dense;
    struct fovea_attention_copy copy;
    struct fovea_attention_compact compact;
    struct fovea_fetch_list fetch;
    bool fetches; ///< false for data that stay in L2: prefetching them took 7 % of the time of 16 tokens, 3 of 50
};

static float *queries_of(const struct task *task, size_t t)
{
    return task->scratch + task->plan->q_at + t * task->plan->q_floats;
}

// The two states of a tile: that of all splits before the current one, and that of the current one.
static struct fovea_attention_state state_of(const struct task *task, size_t t, size_t which)
{
    const struct fovea_attention_layout *const plan = task->plan;
    float *const memory = task->scratch + plan->states_at + (2 * t + which) * plan->state_floats;
    return fovea_attention_call_state(&task->tiles[t], memory);
}

// ---- What is prefetched ------------------------------------------------------------------------------------------

// Appends `rows` rows of `dim` elements of `size` bytes to the list, or as many as it has room for: first the first
// lines of all of them, then the next lines. (Zen 5, S = 128: with a check for room at each pointer, a list took 2.7 %
// of a tile's time.)
static void fetch_rows(struct task *task, const char *at, size_t size, size_t row, size_t rows, size_t dim)
{
    enum { POINTED = FOVEA_FETCH_LINES * FOVEA_LINE * sizeof(float) }; // bytes per pointer
    const void **to = (const void **)(void *)(task->scratch + task->plan->pointers_at) + task->fetch.count;
    const size_t each = fovea_ceil_div(dim * size, POINTED);
    const size_t count = fovea_min(rows, (FOVEA_ATTENTION_POINTERS - task->fetch.count) / each);
    for (size_t c = 0; c < each && count != 0; c++, to += count) { // at may be NULL if there is no row
        const char *from = at + c * POINTED;
        for (size_t i = 0; i < count; i++, from += row * size) {
            to[i] = from;
        }
    }
    task->fetch.count += each * count;
}

static void fetch_queries(struct task *task, const struct fovea_attention_rows *at)
{
    const struct fovea_attention_args *const args = task->args;
    const struct fovea_strides *const q = &task->tiles->q;
    const size_t head = at->kv_head * task->plan->group + at->first / args->q_len;
    fetch_rows(task, (const char *)(args->q + at->batch * q->batch + head * q->head + at->first % args->q_len * q->row),
               sizeof(float), q->row, at->rows, task->plan->desc.qk_dim);
}

// Appends a tile's share of the chunk from `key` on, or of its keys below `end`.
static void fetch_keys(struct task *task, const struct fovea_attention_rows *at, size_t key, size_t end)
{
    const struct fovea_attention_desc *const d = &task->plan->desc;
    const struct fovea_attention_args *const args = task->args;
    const struct fovea_strides *const k = &task->tiles->k, *const v = &task->tiles->v;
    const size_t keys = fovea_min(FOVEA_CHUNK, end - key), first = keys * task->rank / task->meeting;
    const size_t count = keys * (task->rank + 1) / task->meeting - first, from = key + first - args->kv_begin;
    const size_t k_row = d->k_layout == FOVEA_K_PANELS ? d->qk_dim : k->row;
    const size_t size = fovea_type_bytes(d->kv_type);
    const size_t k_first = at->batch * k->batch + at->kv_head * k->head + from * k_row;
    const size_t v_first = at->batch * v->batch + at->kv_head * v->head + from * v->row;
    fetch_rows(task, (const char *)args->k + k_first * size, size, k_row, count, d->qk_dim);
    fetch_rows(task, (const char *)args->v + v_first * size, size, v->row, count, d->v_dim);
}

static void clear_fetch(struct task *task)
{
    task->fetch = (struct fovea_fetch_list){(const void *const *)(void *)(task->scratch + task->plan->pointers_at), 0,
                                            task->plan->tuning->into_l1};
}

// Whether some row of tile t may see a key of the chunk [key, next).
static bool overlaps(const struct task *task, size_t t, size_t key, size_t next)
{
    return task->tiles[t].begin_least < next && key < task->tiles[t].end_most;
}

// Whether this is the last chunk of which some row may see a key; for a tile that sees no key, whether it is the first
// chunk. The tile is then written, and prefetches its output: under a causal order most tiles end before the task does
// (Granite Rapids, against all outputs written, and prefetched by few tiles, after the task's last chunk: 12 heads of
// 64, 512 and 1024 tokens 1.02 to 1.03 times as fast, 2048 1.04, 16 heads 1.05, 32 heads of 128 on 8 1.05 to 1.08, AVX2
// 1.11).
static bool is_last(const struct task *task, size_t t, size_t key, size_t next)
{
    const size_t end = fovea_max(task->tiles[t].end_most, task->begin + 1);
    return key < end && end <= next;
}

// Sets what prefill tile t prefetches while it processes the chunk from `key` on, whose keys are below `next`: its
// output, if this is its last chunk, and its share of what comes next. A block prefetches nothing.
static void plan_fetch(struct task *task, size_t t, size_t key, size_t next)
{
    const struct fovea_attention_grid *const grid = task->grid;
    const struct fovea_attention_tile *const tile = &task->tiles[t];
    const struct fovea_attention_rows here = {.batch = tile->batch, .kv_head = tile->kv_head};
    const bool linear = task->plan->desc.page_keys == 0;
    if (t + 1 < task->count && !task->packed[t + 1] && overlaps(task, t + 1, key, next)) { // tile t + 1 runs next
        const struct fovea_attention_rows other =
            fovea_attention_find(task->plan, task->args, grid, task->index + t + 1);
        fetch_queries(task, &other);
    }
    if (is_last(task, t, key, next)) {
        fetch_rows(task, (const char *)(task->args->out + fovea_attention_offset(tile, tile->out)), sizeof(float),
                   tile->out.row, tile->rows, task->plan->desc.v_dim);
    }
    if (next < task->end) {
        if (linear) {
            fetch_keys(task, &here, next, task->end);
        }
    } else if (task->index + task->count < task->args->batch * grid->heads * grid->tiles) {
        const struct fovea_attention_rows there =
            fovea_attention_find(task->plan, task->args, grid, task->index + task->count);
        const bool anew = there.batch != here.batch || there.kv_head != here.kv_head;
        if (linear && anew && task->plan->desc.window_left == FOVEA_WINDOW_ALL) {
            fetch_keys(task, &there, task->args->kv_begin, task->args->kv_len);
        }
        if (task->rank + 1 == task->meeting) {
            fetch_queries(task, &there);
        }
    }
}

// ---- The way through the keys ------------------------------------------------------------------------------------

// A block reads what tiles have prefetched as it lies in L2: as from memory, Zen 5, a 257th query took as long as 16
// more, 4 to 5 % of all, in place of 2 % (12 heads of 64, 100, 197 and 257 tokens 1.02 to 1.03 times as fast).
static void place(struct task *task)
{
    const bool follows = fovea_attention_block_follows(task->plan, task->args, task->grid);
    size_t sharing = 0;
    task->begin = SIZE_MAX;
    for (size_t t = 0; t < task->count; t++) {
        struct fovea_attention_tile *const tile = &task->tiles[t];
        fovea_attention_place(task->plan, task->args, task->grid, task->index + t, tile);
        task->sweeps[t] = (struct fovea_attention_sweep){
            .tile = tile,
            .q = queries_of(task, t),
            .scratch = task->scratch,
            .dense = &task->dense,
            .prefill = {.copy = &task->copy,
                        .fetch = &task->fetch,
                        .compact = fovea_attention_compacts(task->plan) ? &task->compact : NULL},
            .decode = {.follows = follows},
        };
        sharing += tile->prefill;
        task->begin = tile->end_most != 0 ? fovea_min(task->begin, tile->begin_least) : task->begin;
        task->end = fovea_max(task->end, tile->end_most);
    }
    // Who sees no key begins at 0: kv_begin may then be anything, and the end of its chunk be beyond SIZE_MAX.
    task->begin = task->end != 0 ? fovea_max(task->begin - task->begin % FOVEA_CHUNK, task->args->kv_begin) : 0;
    task->copy = fovea_attention_copy(task->plan, sharing, task->scratch);
}

// Finishes tile t: O, LSE and statistics.
static void write_tile(const struct task *task, size_t t)
{
    const struct fovea_attention_tile *const tile = &task->tiles[t];
    const struct fovea_attention_state state = state_of(task, t, 0);
    if (!task->any[t]) {
        fovea_attention_clear(&state);
    }
    fovea_attention_finish(tile, &state);
}

// Runs tile t on the chunk from `key` on, which ends before `next`, if it sees some of it.
static void meet(struct task *task, size_t t, size_t key, size_t next)
{
    struct fovea_attention_sweep *const sweep = &task->sweeps[t];
    const size_t split = key / FOVEA_SPLIT;
    if (key == task->begin || key % FOVEA_SPLIT == 0) {
        sweep->state = state_of(task, t, task->any[t]);
        sweep->fresh = true;
    }
    if (overlaps(task, t, key, next)) {
        if (!task->packed[t]) {
            fovea_attention_queries(sweep->tile, queries_of(task, t));
            task->packed[t] = true;
        }
        if (task->fetches && sweep->tile->prefill) {
            clear_fetch(task);
            plan_fetch(task, t, key, next);
            task->rank++;
        }
        struct fovea_attention_view view;
        fovea_attention_view(sweep->tile, sweep->q, sweep->scratch, &view);
        fovea_attention_step(sweep, &view, key, next);
    }
    if (!is_last(task, t, key, next) && next / FOVEA_SPLIT == split) {
        return;
    }
    if (!sweep->fresh && task->any[t]) {
        const struct fovea_attention_state total = state_of(task, t, 0);
        task->plan->kernels->attention_merge.run(&total, &sweep->state);
    }
    task->any[t] |= !sweep->fresh;
}

// Begins a chunk, of which nothing has been copied or compacted yet.
static void begin_chunk(struct task *task, size_t key, size_t next)
{
    fovea_attention_copy_anew(&task->copy);
    task->dense = (struct fovea_attention_dense){{0}, {0}};
    task->meeting = task->rank = 0;
    for (size_t t = 0; t < task->count; t++) {
        task->meeting += task->tiles[t].prefill && overlaps(task, t, key, next);
    }
    task->compact = (struct fovea_attention_compact){.tiles = task->meeting};
}

void fovea_attention_prefill(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                             const struct fovea_attention_grid *grid, float *scratch, uint32_t number)
{
    const size_t tasks = fovea_ceil_div(grid->tiles, grid->each), first = number % tasks * grid->each;
    struct fovea_attention_sweep sweeps[FOVEA_ATTENTION_TILES_MAX]; // only those in use are initialised
    struct task task = {
        .plan = plan,
        .args = args,
        .grid = grid,
        .scratch = scratch,
        .index = number / tasks * grid->tiles + first,
        .count = fovea_min(grid->each, grid->tiles - first),
        .sweeps = sweeps,
        .fetches = fovea_attention_prefill_fetches(plan, args),
        .tiles = (struct fovea_attention_tile *)(void *)(scratch + plan->tiles_at),
    };
    place(&task);
    clear_fetch(&task);
    size_t key = task.begin;
    do { // runs once if there is no key, for the output
        const size_t next = key + FOVEA_CHUNK - key % FOVEA_CHUNK;
        begin_chunk(&task, key, next);
        for (size_t t = 0; t < task.count; t++) {
            if (key < task.tiles[t].end_most) {
                meet(&task, t, key, next);
            }
            if (is_last(&task, t, key, next)) {
                write_tile(&task, t);
            }
        }
        key = next;
    } while (key < task.end);
}
