// SPDX-License-Identifier: Apache-2.0
// ops/attention.c - runs an attention plan: tiles of queries over all keys, or blocks of a few rows over splits.
#include "ops/attention.h"
#include <string.h>

struct fovea_attention_rows fovea_attention_find(const struct fovea_attention_layout *plan,
                                                 const struct fovea_attention_args *args,
                                                 const struct fovea_attention_grid *grid, size_t index)
{
    struct fovea_attention_rows at = {.batch = grid->first + index / grid->tiles / grid->heads,
                                      .kv_head = index / grid->tiles % grid->heads};
    if (!grid->prefill) {
        at.first = index % grid->tiles * grid->most;
        at.rows = fovea_min(grid->most, grid->rows - at.first);
        return at;
    }
    const size_t of_head = grid->tiles / plan->group, whole = grid->rows - grid->few;
    const size_t last = grid->tiles - 1 - index % grid->tiles; // under causal it has most keys
    const size_t query = fovea_min(last % of_head * grid->most, whole);
    at.first = last / of_head * args->q_len + query;
    at.rows = query == whole ? grid->few : fovea_min(grid->most, whole - query);
    return at;
}

void fovea_attention_place(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                           const struct fovea_attention_grid *grid, size_t index, struct fovea_attention_tile *tile)
{
    const struct fovea_attention_rows at = fovea_attention_find(plan, args, grid, index);
    fovea_attention_tile(plan, args, at.batch, at.kv_head, at.first, at.rows, tile);
    tile->prefill = grid->prefill && at.rows != grid->few;
}

const struct fovea_attention_kernel *fovea_attention_kernel_of(const struct fovea_attention_tile *tile)
{
    const struct fovea_kernels *const kernels = tile->plan->kernels;
    return tile->prefill ? &kernels->attention_prefill : &kernels->attention_decode;
}

struct fovea_attention_state fovea_attention_state_in(float *memory, bool prefill, size_t rows, size_t rows_most,
                                                      size_t v_dim)
{
    return (struct fovea_attention_state){
        .rows = rows,
        .v_dim = v_dim,
        .m = memory,
        .l = memory + rows_most,
        .o = memory + 2 * rows_most,
        .o_row = prefill ? 1 : (ptrdiff_t)fovea_round_up(v_dim, FOVEA_PANEL),
        .o_col = prefill ? (ptrdiff_t)rows_most : 1,
    };
}

size_t fovea_attention_state_floats(bool prefill, size_t rows, size_t rows_most, size_t v_dim)
{
    return 2 * rows_most + (prefill ? rows_most * v_dim : rows * fovea_round_up(v_dim, FOVEA_PANEL));
}

void fovea_attention_queries(const struct fovea_attention_tile *tile, float *q)
{
    const struct fovea_attention_desc *const d = &tile->plan->desc;
    if (tile->prefill) {
        const size_t lanes = tile->plan->kernels->attention_prefill.nr,
                     padded = fovea_round_up(tile->rows, FOVEA_PANEL);
        tile->plan->kernels->transpose.run(tile->rows, d->qk_dim, d->scale,
                                           tile->args->q + fovea_attention_offset(tile, tile->q),
                                           (ptrdiff_t)tile->q.row, q, (ptrdiff_t)lanes);
        for (size_t c = 0; c < d->qk_dim && tile->rows < padded; c++) {
            memset(q + c * lanes + tile->rows, 0, (padded - tile->rows) * sizeof *q);
        }
        return;
    }
    size_t offsets[FOVEA_TILE_ROWS_MAX];
    fovea_attention_offsets(tile, tile->q, offsets);
    for (size_t r = 0; r < tile->rows; r++) {
        const float *const row = tile->args->q + offsets[r];
        for (size_t c = 0; c < d->qk_dim; c++) {
            q[r * d->qk_dim + c] = row[c] * d->scale;
        }
    }
}

struct fovea_attention_state fovea_attention_call_state(const struct fovea_attention_tile *tile, float *memory)
{
    const size_t rows = tile->rows, lanes = fovea_attention_kernel_of(tile)->nr, v_dim = tile->plan->desc.v_dim;
    struct fovea_attention_state state = fovea_attention_state_in(memory, tile->prefill, rows, lanes, v_dim);
    if (tile->plan->statistics != 0) {
        state.spread = memory + fovea_attention_state_floats(tile->prefill, rows, lanes, v_dim);
        state.largest = state.spread + lanes;
        state.top = (uint32_t *)(void *)(state.largest + lanes);
    }
    return state;
}

void fovea_attention_finish(const struct fovea_attention_tile *tile, const struct fovea_attention_state *state)
{
    const struct fovea_attention_args *const args = tile->args;
    const size_t batch = args->q_starts != NULL ? 0 : tile->batch; // a ragged entry's lse begins with itself
    const size_t head = batch * tile->plan->desc.heads + tile->kv_head * tile->plan->group;
    const size_t first = head * args->q_len + tile->first, bytes = state->rows * sizeof(float);
    tile->plan->kernels->attention_finish.run(state, args->sinks != NULL ? tile->sink : NULL,
                                              args->lse != NULL ? args->lse + first : NULL);
    if (args->entropy != NULL) {
        memcpy(args->entropy + first, state->spread, bytes);
    }
    if (args->max_weight != NULL) {
        memcpy(args->max_weight + first, state->largest, bytes);
    }
    if (args->max_key != NULL) {
        memcpy(args->max_key + first, state->top, bytes);
    }
    if (tile->prefill) {
        tile->plan->kernels->transpose.run(state->v_dim, tile->rows, 1.0f, state->o, state->o_col,
                                           args->out + fovea_attention_offset(tile, tile->out),
                                           (ptrdiff_t)tile->out.row);
        return;
    }
    size_t offsets[FOVEA_TILE_ROWS_MAX];
    fovea_attention_offsets(tile, tile->out, offsets);
    for (size_t r = 0; r < tile->rows; r++) {
        memcpy(args->out + offsets[r], state->o + (ptrdiff_t)r * state->o_row, state->v_dim * sizeof *state->o);
    }
}

// The first split that a block may see keys of; that of a block which sees none holds its empty state.
static size_t first_split(const struct fovea_attention_tile *tile)
{
    return tile->begin_least / FOVEA_SPLIT;
}

// Whether a block may see keys of a split, or has its result there.
static bool in_reach(const struct fovea_attention_tile *tile, size_t split)
{
    return split == first_split(tile) || (split > first_split(tile) && split * FOVEA_SPLIT < tile->end_most);
}

// Phase 0 of decoding: one block, one split. Where there is but one, it ends the block, too.
static void decode(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                   const struct fovea_attention_grid *grid, float *shared, float *scratch, uint32_t task)
{
    const size_t split = task % grid->splits;
    struct fovea_attention_tile tile;
    fovea_attention_place(plan, args, grid, task / grid->splits, &tile);
    if (!in_reach(&tile, split)) {
        return; // join() does not look there
    }
    float *const q = scratch + plan->q_at;
    fovea_attention_queries(&tile, q);
    const struct fovea_attention_state state = fovea_attention_call_state(&tile, shared + task * plan->block_floats);
    struct fovea_attention_part part = {
        .tile = &tile, .q = q, .scratch = scratch, .state = state, .fresh = true, .alone = true};
    if (!fovea_attention_split(&part, split)) {
        fovea_attention_clear(&state);
    }
    if (grid->splits == 1) {
        fovea_attention_finish(&tile, &state);
    }
}

// Phase 1 of decoding: merges the splits of a block in order and ends it.
static void join(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                 const struct fovea_attention_grid *grid, float *shared, uint32_t task)
{
    struct fovea_attention_tile tile;
    fovea_attention_place(plan, args, grid, task, &tile);
    const size_t first = first_split(&tile);
    float *const states = shared + (task * grid->splits + first) * plan->block_floats;
    const struct fovea_attention_state total = fovea_attention_call_state(&tile, states);
    for (size_t split = first + 1; in_reach(&tile, split); split++) {
        const struct fovea_attention_state next =
            fovea_attention_call_state(&tile, states + (split - first) * plan->block_floats);
        plan->kernels->attention_merge.run(&total, &next);
    }
    fovea_attention_finish(&tile, &total);
}

static size_t tasks_of(const struct fovea_attention_args *args, const struct fovea_attention_grid *grid, uint32_t phase)
{
    const size_t tasks = args->batch * grid->heads * fovea_ceil_div(grid->tiles, grid->each);
    return phase == 0 ? tasks * grid->splits : grid->splits > 1 ? tasks : 0;
}

static uint32_t count_tasks(const void *plan, const void *args, uint32_t phase)
{
    const struct fovea_attention_args *const a = args;
    size_t tasks = 0;
    if (a->q_starts == NULL) {
        const struct fovea_attention_grid grid = fovea_attention_grid(plan, a->batch, a->q_len, a->kv_len);
        return (uint32_t)tasks_of(a, &grid, phase);
    }
    for (size_t b = 0; b < a->batch; b++) {
        size_t strides[4];
        const struct fovea_attention_args entry = fovea_attention_entry(plan, a, b, strides);
        const struct fovea_attention_grid grid = fovea_attention_grid(plan, a->batch, entry.q_len, entry.kv_len);
        tasks += tasks_of(&entry, &grid, phase);
    }
    return (uint32_t)tasks;
}

static void run_part(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                     const struct fovea_attention_grid *grid, float *shared, float *scratch, uint32_t phase,
                     uint32_t task)
{
    if (phase == 1) {
        join(plan, args, grid, shared, task);
    } else if (grid->prefill) {
        fovea_attention_prefill(plan, args, grid, scratch, task);
    } else {
        decode(plan, args, grid, shared, scratch, task);
    }
}

static void run_task(const void *plan, const void *args, void *shared, void *scratch, uint32_t phase, uint32_t task)
{
    const struct fovea_attention_layout *const layout = plan;
    const struct fovea_attention_args *const a = args;
    if (a->q_starts == NULL) {
        const struct fovea_attention_grid grid = fovea_attention_grid(layout, a->batch, a->q_len, a->kv_len);
        run_part(layout, a, &grid, shared, scratch, phase, task);
        return;
    }
    for (size_t b = 0, before = 0, tasks; b < a->batch; b++, before += tasks) {
        size_t strides[4];
        const struct fovea_attention_args entry = fovea_attention_entry(layout, a, b, strides);
        struct fovea_attention_grid grid = fovea_attention_grid(layout, a->batch, entry.q_len, entry.kv_len);
        tasks = tasks_of(&entry, &grid, phase);
        if (task < before + tasks) {
            grid.first = b;
            run_part(layout, &entry, &grid, (float *)shared + b * layout->entry_floats, scratch, phase,
                     task - (uint32_t)before);
            return;
        }
    }
}

const struct fovea_operator fovea_attention_operator = {count_tasks, run_task, NULL};

enum fovea_status fovea_attention_check(const struct fovea_attention_layout *plan,
                                        const struct fovea_attention_args *args)
{
    FOVEA_CHECK(plan != NULL && args != NULL, FOVEA_ERR_NULL);
    const struct fovea_attention_desc *const d = &plan->desc;
    FOVEA_CHECK(args->batch <= d->batch && args->q_len <= d->q_len && args->kv_len <= d->kv_len, FOVEA_ERR_SHAPE);
    if (args->batch == 0 || d->heads == 0 || args->q_len == 0) {
        return FOVEA_OK;
    }
    FOVEA_CHECK(args->q != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(args->kv_begin % FOVEA_PANEL == 0, FOVEA_ERR_ALIGN);
    if (args->batch_strides != NULL) {
        const struct fovea_attention_desc call = fovea_attention_call(plan, args);
        FOVEA_TRY(fovea_attention_check_strides(&call, NULL));
    }
    for (size_t i = 0; args->live_heads != NULL && i < args->live_count; i++) {
        FOVEA_CHECK(args->live_heads[i] < d->heads, FOVEA_ERR_SHAPE);
        FOVEA_CHECK(i == 0 || args->live_heads[i] > args->live_heads[i - 1], FOVEA_ERR_VALUE);
    }
    FOVEA_CHECK(d->statistics || (args->entropy == NULL && args->max_weight == NULL && args->max_key == NULL),
                FOVEA_ERR_VALUE);
    FOVEA_CHECK(args->kv_lens != NULL || d->kv_len_kind == FOVEA_KV_LEN_ALL, FOVEA_ERR_NULL);
    FOVEA_TRY(fovea_attention_check_ragged(plan, args));
    if (args->kv_len == 0) {
        return FOVEA_OK;
    }
    FOVEA_CHECK(args->k != NULL && args->v != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(args->additive != NULL || d->scoring == FOVEA_SCORING_DOT, FOVEA_ERR_NULL);
    FOVEA_CHECK(args->pages != NULL || d->page_keys == 0, FOVEA_ERR_NULL);
    FOVEA_CHECK((args->mask != NULL || !d->mask) && (args->bias != NULL || !d->bias) &&
                    (args->blocks != NULL || !d->blocks),
                FOVEA_ERR_NULL);
    FOVEA_CHECK((args->q_segments != NULL && args->kv_segments != NULL) || !d->segments, FOVEA_ERR_NULL);
    return FOVEA_OK;
}

static enum fovea_status check_call(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args)
{
    FOVEA_TRY(fovea_attention_check(plan, args));
    const bool empty = args->batch == 0 || plan->desc.heads == 0 || args->q_len == 0;
    FOVEA_CHECK(empty || args->out != NULL, FOVEA_ERR_NULL);
    return FOVEA_OK;
}

enum fovea_status fovea_attention(const void *plan, const struct fovea_attention_args *args, void *shared,
                                  void *scratch, const struct fovea_executor *executor)
{
    FOVEA_TRY(check_call(plan, args));
    return fovea_run(&fovea_attention_operator, plan, args, shared, scratch, executor);
}

uint32_t fovea_attention_tasks(const void *plan, const struct fovea_attention_args *args, uint32_t phase)
{
    const struct fovea_attention_layout *const layout = plan;
    return check_call(plan, args) == FOVEA_OK && phase < layout->work.phases ? count_tasks(plan, args, phase) : 0;
}

enum fovea_status fovea_attention_task(const void *plan, const struct fovea_attention_args *args, void *shared,
                                       void *scratch, uint32_t phase, uint32_t task)
{
    FOVEA_TRY(check_call(plan, args));
    return fovea_run_task(&fovea_attention_operator, plan, args, shared, scratch, phase, task);
}
