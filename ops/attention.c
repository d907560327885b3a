// SPDX-License-Identifier: Apache-2.0
// ops/attention.c - runs an attention plan: tiles of queries over all keys, or blocks of a few rows over splits.
#include "ops/attention.h"
#include <string.h>

// The batch entry, head and tile or block of a task that has no splits.
struct place {
    size_t batch, head, tile;
};

static struct place place_of(const struct fovea_attention_grid *grid, size_t task)
{
    return (struct place){task / grid->tiles / grid->heads, task / grid->tiles % grid->heads, task % grid->tiles};
}

// The state in `memory`: m, l, then O, as the kernels of this way want it. rows_most is a multiple of 16.
static struct fovea_attention_state state_in(float *memory, bool prefill, size_t rows, size_t rows_most, size_t v_dim)
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

// Ends the softmax in state->o, and writes the LSE where it is asked for.
static void finish(const struct fovea_attention_tile *tile, const struct fovea_attention_state *state)
{
    const struct fovea_attention_args *const args = tile->args;
    const size_t head = tile->batch * tile->plan->desc.heads + tile->kv_head * tile->plan->group;
    tile->plan->kernels->attention_finish.run(state, args->sinks != NULL ? tile->sink : NULL,
                                              args->lse != NULL ? args->lse + head * args->q_len + tile->first : NULL);
}

static void prefill(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                    const struct fovea_attention_grid *grid, float *scratch, uint32_t task)
{
    const struct fovea_kernels *const kernels = plan->kernels;
    const struct fovea_attention_desc *const d = &plan->desc;
    const struct place at = place_of(grid, task);
    const size_t query = (grid->tiles - 1 - at.tile) * grid->most; // last tile first: under causal it has most keys
    const size_t rows = fovea_min(grid->most, args->q_len - query);
    const struct fovea_attention_tile tile = fovea_attention_tile(plan, args, at.batch, at.head / plan->group,
                                                                  at.head % plan->group * args->q_len + query, rows);

    float *const q = scratch + plan->kernel_floats, *const states = q + plan->q_floats;
    kernels->pack_bt.run(d->qk_dim, rows, args->q + fovea_attention_offset(&tile, tile.q, 0), (ptrdiff_t)tile.q.row, q,
                         (ptrdiff_t)(FOVEA_PANEL * d->qk_dim));
    for (size_t i = 0; i < fovea_round_up(rows, FOVEA_PANEL) * d->qk_dim; i++) {
        q[i] *= d->scale;
    }
    const struct fovea_attention_state total = state_in(states, true, rows, grid->most, d->v_dim);
    const struct fovea_attention_state next = state_in(states + plan->tile_floats, true, rows, grid->most, d->v_dim);
    bool any = false;
    for (size_t split = tile.begin_least / FOVEA_SPLIT; split * FOVEA_SPLIT < tile.end_most; split++) {
        const struct fovea_attention_state *const into = any ? &next : &total;
        const bool some = fovea_attention_split(&tile, &kernels->attention_prefill, q, split, into, scratch);
        if (some && any) {
            kernels->attention_merge.run(&total, &next);
        }
        any |= some;
    }
    if (!any) {
        fovea_attention_clear(&total);
    }
    finish(&tile, &total);
    kernels->transpose.run(d->v_dim, rows, total.o, total.o_col, args->out + fovea_attention_offset(&tile, tile.out, 0),
                           (ptrdiff_t)tile.out.row);
}

static struct fovea_attention_tile block_of(const struct fovea_attention_layout *plan,
                                            const struct fovea_attention_args *args,
                                            const struct fovea_attention_grid *grid, size_t task)
{
    const struct place at = place_of(grid, task);
    const size_t row = at.tile * grid->most;
    return fovea_attention_tile(plan, args, at.batch, at.head, row, fovea_min(grid->most, grid->rows - row));
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

// Phase 0 of decoding: one block, one split.
static void decode(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                   const struct fovea_attention_grid *grid, float *shared, float *scratch, uint32_t task)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const size_t split = task % grid->splits;
    const struct fovea_attention_tile tile = block_of(plan, args, grid, task / grid->splits);
    if (!in_reach(&tile, split)) {
        return; // join() does not look there
    }
    float *const q = scratch + plan->kernel_floats;
    for (size_t r = 0; r < tile.rows; r++) {
        const float *const row = args->q + fovea_attention_offset(&tile, tile.q, r);
        for (size_t c = 0; c < d->qk_dim; c++) {
            q[r * d->qk_dim + c] = row[c] * d->scale;
        }
    }
    const struct fovea_attention_state state =
        state_in(shared + task * plan->block_floats, false, tile.rows, grid->most, d->v_dim);
    if (!fovea_attention_split(&tile, &plan->kernels->attention_decode, q, split, &state, scratch)) {
        fovea_attention_clear(&state);
    }
}

// Phase 1 of decoding: merges the splits of a block in order and writes its rows.
static void join(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                 const struct fovea_attention_grid *grid, float *shared, uint32_t task)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const struct fovea_attention_tile tile = block_of(plan, args, grid, task);
    const size_t first = first_split(&tile);
    float *const states = shared + (task * grid->splits + first) * plan->block_floats;
    const struct fovea_attention_state total = state_in(states, false, tile.rows, grid->most, d->v_dim);
    for (size_t split = first + 1; in_reach(&tile, split); split++) {
        const struct fovea_attention_state next =
            state_in(states + (split - first) * plan->block_floats, false, tile.rows, grid->most, d->v_dim);
        plan->kernels->attention_merge.run(&total, &next);
    }
    finish(&tile, &total);
    for (size_t r = 0; r < tile.rows; r++) {
        memcpy(args->out + fovea_attention_offset(&tile, tile.out, r), total.o + (ptrdiff_t)r * total.o_row,
               d->v_dim * sizeof *args->out);
    }
}

static uint32_t count_tasks(const void *plan, const void *args, uint32_t phase)
{
    const struct fovea_attention_layout *const layout = plan;
    const struct fovea_attention_args *const a = args;
    const struct fovea_attention_grid grid = fovea_attention_grid(layout, a->q_len, a->kv_len);
    const size_t tiles = a->batch * grid.heads * grid.tiles;
    return (uint32_t)(phase == 0 ? tiles * grid.splits : grid.prefill ? 0 : tiles);
}

static void run_task(const void *plan, const void *args, void *shared, void *scratch, uint32_t phase, uint32_t task)
{
    const struct fovea_attention_layout *const layout = plan;
    const struct fovea_attention_args *const a = args;
    const struct fovea_attention_grid grid = fovea_attention_grid(layout, a->q_len, a->kv_len);
    if (phase == 1) {
        join(layout, a, &grid, shared, task);
    } else if (grid.prefill) {
        prefill(layout, a, &grid, scratch, task);
    } else {
        decode(layout, a, &grid, shared, scratch, task);
    }
}

const struct fovea_operator fovea_attention_operator = {count_tasks, run_task, NULL};

static enum fovea_status check_args(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args)
{
    FOVEA_CHECK(plan != NULL && args != NULL, FOVEA_ERR_NULL);
    const struct fovea_attention_desc *const d = &plan->desc;
    FOVEA_CHECK(args->batch <= d->batch && args->q_len <= d->q_len && args->kv_len <= d->kv_len, FOVEA_ERR_SHAPE);
    if (args->batch == 0 || d->heads == 0 || args->q_len == 0) {
        return FOVEA_OK;
    }
    FOVEA_CHECK(args->q != NULL && args->out != NULL, FOVEA_ERR_NULL);
    if (args->batch_strides != NULL) {
        const struct fovea_attention_desc call = fovea_attention_call(plan, args);
        FOVEA_TRY(fovea_attention_check_strides(&call, NULL));
    }
    for (size_t i = 0; args->live_heads != NULL && i < args->live_count; i++) {
        FOVEA_CHECK(args->live_heads[i] < d->heads, FOVEA_ERR_SHAPE);
        FOVEA_CHECK(i == 0 || args->live_heads[i] > args->live_heads[i - 1], FOVEA_ERR_VALUE);
    }
    FOVEA_CHECK(args->kv_lens != NULL || d->kv_len_kind == FOVEA_KV_LEN_ALL, FOVEA_ERR_NULL);
    if (args->kv_len == 0) {
        return FOVEA_OK;
    }
    FOVEA_CHECK(args->k != NULL && args->v != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK((args->mask != NULL || !d->mask) && (args->bias != NULL || !d->bias) &&
                    (args->blocks != NULL || !d->blocks),
                FOVEA_ERR_NULL);
    FOVEA_CHECK((args->q_segments != NULL && args->kv_segments != NULL) || !d->segments, FOVEA_ERR_NULL);
    return FOVEA_OK;
}

enum fovea_status fovea_attention(const void *plan, const struct fovea_attention_args *args, void *shared,
                                  void *scratch, const struct fovea_executor *executor)
{
    FOVEA_TRY(check_args(plan, args));
    return fovea_run(&fovea_attention_operator, plan, args, shared, scratch, executor);
}

uint32_t fovea_attention_tasks(const void *plan, const struct fovea_attention_args *args, uint32_t phase)
{
    const struct fovea_attention_layout *const layout = plan;
    return check_args(plan, args) == FOVEA_OK && phase < layout->work.phases ? count_tasks(plan, args, phase) : 0;
}

enum fovea_status fovea_attention_task(const void *plan, const struct fovea_attention_args *args, void *shared,
                                       void *scratch, uint32_t phase, uint32_t task)
{
    FOVEA_TRY(check_args(plan, args));
    return fovea_run_task(&fovea_attention_operator, plan, args, shared, scratch, phase, task);
}
