// SPDX-License-Identifier: Apache-2.0
// ops/attention.c - runs an attention plan: tiles of queries over all keys, or blocks of a few rows over splits.
#include "ops/attention.h"
#include <string.h>

// The first split in which a block may see keys. For a block that sees none, this split holds its empty state.
static size_t first_split(const struct fovea_attention_tile *tile)
{
    return tile->begin_least / FOVEA_SPLIT;
}

// Whether a block may see keys of a split, or stores its result there.
static bool in_reach(const struct fovea_attention_tile *tile, size_t split)
{
    return split == first_split(tile) || (split > first_split(tile) && split * FOVEA_SPLIT < tile->end_most);
}

// The address of a block's state of a split in shared memory: m, l, the statistics and O of its rows, and nothing else,
// so that a call shares exactly as many floats as its rows have in these splits.
static float *shared_state(const struct fovea_attention_layout *plan, const struct fovea_attention_grid *grid,
                           float *shared, size_t index, const struct fovea_attention_tile *tile, size_t split)
{
    const size_t before = index / grid->tiles * grid->rows + index % grid->tiles * grid->most;
    return shared + (before * grid->splits + split * tile->rows) * plan->row_floats;
}

static float *store(const void *from, size_t floats, float *to)
{
    memcpy(to, from, floats * sizeof *to);
    return to + floats;
}

static const float *load(void *to, size_t floats, const float *from)
{
    memcpy(to, from, floats * sizeof *from);
    return from + floats;
}

static void store_state(const struct fovea_attention_state *state, float *to)
{
    to = store(state->l, state->rows, store(state->m, state->rows, to));
    if (state->spread != NULL) {
        to = store(state->top, state->rows, store(state->spread, state->rows, to));
    }
    for (size_t r = 0; r < state->rows; r++) {
        to = store(state->o + (ptrdiff_t)r * state->o_row, state->v_dim, to);
    }
}

static void load_state(const struct fovea_attention_state *state, const float *from)
{
    from = load(state->l, state->rows, load(state->m, state->rows, from));
    if (state->spread != NULL) {
        from = load(state->top, state->rows, load(state->spread, state->rows, from));
    }
    for (size_t r = 0; r < state->rows; r++) {
        from = load(state->o + (ptrdiff_t)r * state->o_row, state->v_dim, from);
    }
}

// The state in a worker's scratch for its i-th block.
static struct fovea_attention_state scratch_state(const struct fovea_attention_tile *tile, float *scratch, size_t i)
{
    return fovea_attention_call_state(tile, scratch + tile->plan->states_at + i * tile->plan->block_state_floats);
}

// FOVEA_ATTENTION_COMPUTE of decoding: some blocks of a key head, over one split. If there is only one split, the
// blocks are finished here. The blocks read their keys together: one after another, each would read them from memory
// anew (Granite Rapids, 32 heads on 8, 5 to 12 queries over 1024 to 4096 keys, K in rows 1.15 to 1.35 times as fast
// together, in panels 1.04 to 1.27; in L2 0.98 to 1.0).
static void decode(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                   const struct fovea_attention_grid *grid, float *shared, float *scratch, uint32_t task)
{
    const size_t split = task % grid->splits;
    size_t index = task / grid->splits, blocks = 1; // the first block, and the number of blocks
    if (grid->each > 1) {
        const size_t tasks = fovea_ceil_div(grid->tiles, grid->each), first = index % tasks * grid->each;
        blocks = fovea_min(grid->each, grid->tiles - first);
        index = index / tasks * grid->tiles + first;
    }
    struct fovea_attention_tile one, *const many = (struct fovea_attention_tile *)(void *)(scratch + plan->tiles_at);
    // A single one is on the stack: 4 queries and keys take 1 % less time.
    struct fovea_attention_tile *const tiles = blocks == 1 ? &one : many;
    struct fovea_attention_sweep sweeps[FOVEA_ATTENTION_TILES_MAX];
    size_t count = 0, indices[FOVEA_ATTENTION_TILES_MAX];
    for (size_t i = 0; i < blocks; i++) {
        struct fovea_attention_tile *const tile = &tiles[count];
        fovea_attention_place(plan, args, grid, index + i, tile);
        if (!in_reach(tile, split)) {
            continue; // join() does not read it
        }
        float *const q = scratch + plan->q_at + count * plan->block_q_floats;
        fovea_attention_queries(tile, q);
        struct fovea_attention_sweep *const sweep = &sweeps[count];
        *sweep = (struct fovea_attention_sweep){
            .tile = tile, .q = q, .scratch = scratch, .fresh = true, .decode.alone = blocks == 1};
        sweep->state = scratch_state(tile, scratch, count);
        indices[count++] = index + i;
    }
    fovea_attention_split(sweeps, count, split);
    for (size_t i = 0; i < count; i++) {
        if (sweeps[i].fresh) {
            fovea_attention_clear(&sweeps[i].state);
        }
        if (grid->splits == 1) {
            fovea_attention_finish(sweeps[i].tile, &sweeps[i].state);
        } else {
            store_state(&sweeps[i].state, shared_state(plan, grid, shared, indices[i], sweeps[i].tile, split));
        }
    }
}

// FOVEA_ATTENTION_JOIN: merges the splits of a block in order, and finishes it.
static void join(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                 const struct fovea_attention_grid *grid, float *shared, float *scratch, uint32_t task)
{
    struct fovea_attention_tile tile;
    fovea_attention_place(plan, args, grid, task, &tile);
    const struct fovea_attention_state total = scratch_state(&tile, scratch, 0),
                                       next = scratch_state(&tile, scratch, 1);
    fovea_attention_clear(&total); // unused lanes and columns are read, too
    fovea_attention_clear(&next);
    for (size_t split = first_split(&tile); in_reach(&tile, split); split++) {
        const bool first = split == first_split(&tile);
        load_state(first ? &total : &next, shared_state(plan, grid, shared, task, &tile, split));
        if (!first) {
            plan->kernels->attention_merge.run(&total, &next);
        }
    }
    fovea_attention_finish(&tile, &total);
}

// Maps a phase of a plan: the first one is missing if there are no landmarks.
static enum fovea_attention_phase phase_of(const struct fovea_attention_layout *plan, uint32_t phase)
{
    return (enum fovea_attention_phase)(phase + FOVEA_ATTENTION_PHASES - plan->work.phases);
}

static uint32_t *landmarks_in(const struct fovea_attention_layout *plan, void *shared)
{
    return plan->landmarks == 0 ? NULL : (uint32_t *)(void *)((float *)shared + plan->landmarks_at);
}

static uint32_t begin(struct fovea_job *job)
{
    const struct fovea_attention_layout *const plan = job->plan;
    const struct fovea_attention_args *const args = job->args;
    const enum fovea_attention_phase which = phase_of(plan, job->phase);
    if (which == FOVEA_ATTENTION_PREPARE) {
        return args->q_starts != NULL;
    }
    if (args->q_starts != NULL) {
        return (uint32_t)fovea_attention_seek(plan, args, NULL, which, SIZE_MAX).before;
    }
    job->attention = fovea_attention_grid(plan, args->batch, args->q_len, args->kv_len);
    // Under causal order the tasks of a head shrink to a fraction of its first one. If shares are no whole heads, large
    // tasks may be left at the end (simulated, 2 heads of 86 tasks, 16 workers: the largest part 1.10 times the even
    // one, in order 1.02; 12 heads of 22, 16 workers: 1.04 and 1.02).
    const size_t heads = args->batch * job->attention.heads, workers = plan->kernels->workers;
    job->in_order = job->attention.prefill && plan->desc.causal != 0 && heads < 2 * workers && heads % workers != 0;
    return (uint32_t)fovea_attention_grid_tasks(&job->attention, args->batch, which);
}

// Runs a task of a call that is not ragged, or of one entry as such a call.
static void run_call(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                     const struct fovea_attention_grid *grid, float *shared, float *scratch,
                     enum fovea_attention_phase phase, uint32_t task)
{
    if (phase == FOVEA_ATTENTION_JOIN) {
        join(plan, args, grid, shared, scratch, task);
    } else if (grid->prefill) {
        fovea_attention_prefill(plan, args, grid, scratch, task);
    } else {
        decode(plan, args, grid, shared, scratch, task);
    }
}

// Where the states of an entry of a ragged batch begin: behind those of the queries before it. Entries that are not
// decoded have none, so these are no more than `few` for each entry.
static float *entry_states(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args, size_t b,
                           float *shared)
{
    const size_t before = (size_t)args->q_starts[b] - args->q_starts[0];
    return shared + fovea_min(before, b * plan->few) * plan->query_floats;
}

// Runs a task of one entry of a ragged batch.
static void run_entry(const struct fovea_attention_layout *plan, const struct fovea_attention_args *args,
                      struct fovea_attention_at *at, void *shared, void *scratch, enum fovea_attention_phase phase,
                      uint32_t task)
{
    size_t strides[4];
    const struct fovea_attention_args entry = fovea_attention_entry(plan, args, at->number, strides);
    at->grid.first = at->number;
    run_call(plan, &entry, &at->grid, entry_states(plan, args, at->number, shared), scratch, phase,
             task - (uint32_t)at->before);
}

static void run_task(const struct fovea_job *job, void *scratch, uint32_t task)
{
    const struct fovea_attention_layout *const plan = job->plan;
    const struct fovea_attention_args *const args = job->args;
    const enum fovea_attention_phase which = phase_of(plan, job->phase);
    if (which == FOVEA_ATTENTION_PREPARE) {
        fovea_attention_set_landmarks(plan, args, landmarks_in(plan, job->shared));
    } else if (args->q_starts == NULL) {
        run_call(plan, args, &job->attention, job->shared, scratch, which, task);
    } else {
        struct fovea_attention_at at = fovea_attention_seek(plan, args, landmarks_in(plan, job->shared), which, task);
        run_entry(plan, args, &at, job->shared, scratch, which, task);
    }
}

const struct fovea_operator fovea_attention_operator = {.begin = begin, .task = run_task};

enum fovea_status fovea_attention(const void *plan, const struct fovea_attention_args *args, void *shared,
                                  void *scratch, const struct fovea_executor *executor)
{
    FOVEA_TRY(fovea_attention_check_call(plan, args, NULL));
    return fovea_run(&fovea_attention_operator, plan, args, shared, scratch, executor);
}

uint32_t fovea_attention_tasks(const void *plan, const struct fovea_attention_args *args, uint32_t phase)
{
    const bool right = fovea_attention_check_call(plan, args, NULL) == FOVEA_OK;
    return right ? fovea_count_tasks(&fovea_attention_operator, plan, args, phase) : 0;
}

enum fovea_status fovea_attention_task(const void *plan, const struct fovea_attention_args *args, void *shared,
                                       void *scratch, uint32_t phase, uint32_t task)
{
    const struct fovea_attention_layout *const layout = plan;
    FOVEA_TRY(fovea_attention_check_whole(plan, args));
    if (args->q_starts == NULL) {
        return fovea_run_task(&fovea_attention_operator, plan, args, shared, scratch, phase, task);
    }
    FOVEA_CHECK(phase < layout->work.phases, FOVEA_ERR_SHAPE);
    const enum fovea_attention_phase which = phase_of(layout, phase);
    if (which == FOVEA_ATTENTION_PREPARE) {
        FOVEA_TRY(fovea_attention_check_call(plan, args, NULL));
        return fovea_run_task(&fovea_attention_operator, plan, args, shared, scratch, phase, task);
    }
    // Checks only this entry: checking and counting all of them in each task would take n^2 steps, too.
    FOVEA_TRY(fovea_check_memory(&layout->work, shared, scratch));
    struct fovea_attention_at at = fovea_attention_seek(layout, args, landmarks_in(layout, shared), which, task);
    FOVEA_CHECK(at.number < args->batch, FOVEA_ERR_SHAPE);
    FOVEA_TRY(fovea_attention_check_entry(args, at.number));
    run_entry(layout, args, &at, shared, scratch, which, task);
    return FOVEA_OK;
}
