// SPDX-License-Identifier: Apache-2.0
// ops/attention_state.c - attention states in memory: keys accumulate in them, they merge, they end as outputs.
//
// A state is a header and up to parts_max parts, each the state of one split of keys (of the first, of several splits
// folded) for all rows: m, l (batch, heads, q_len) and O (batch, heads, q_len, v_dim), dense. A split that begins when
// all parts are taken folds the second part into the first: always from the left, as one call of fovea_attention
// merges.
#include "fovea/attention_state.h"
#include "ops/attention.h"
#include <math.h>
#include <string.h>

enum { PARTS_MAX = UINT16_MAX, MERGE_ROWS = 16, TASK_ROWS = 16 * MERGE_ROWS };

struct header {
    char magic[8];
    uint32_t parts_max, parts;
    uint32_t split; ///< of the last part
    uint32_t reserved;
    uint64_t batch, heads, q_len, v_dim, bytes;
};
_Static_assert(sizeof(struct header) == FOVEA_ALIGNMENT, "parts begin behind one cache line");
static const char magic[8] = {'F', 'O', 'V', 'E', 'A', 'S', '0', '1'};

static size_t rows_of(const struct header *state)
{
    return (size_t)(state->batch * state->heads * state->q_len);
}

// Part p of rows [first, ...): m, then l and O.
struct part {
    float *m, *l, *o;
};

static struct part part_of(void *state, size_t p, size_t first)
{
    const struct header *const header = state;
    const size_t rows = rows_of(header), v_dim = (size_t)header->v_dim;
    float *const m = (float *)(void *)(header + 1) + p * rows * (2 + v_dim);
    return (struct part){m + first, m + rows + first, m + 2 * rows + first * v_dim};
}

static void load(const struct fovea_attention_layout *plan, const struct part *part,
                 const struct fovea_attention_state *state)
{
    const size_t v_dim = state->v_dim;
    memcpy(state->m, part->m, state->rows * sizeof *state->m);
    memcpy(state->l, part->l, state->rows * sizeof *state->l);
    if (state->o_row == 1) {
        plan->kernels->transpose.run(state->rows, v_dim, 1.0f, part->o, (ptrdiff_t)v_dim, state->o, state->o_col);
        return;
    }
    for (size_t r = 0; r < state->rows; r++) {
        memcpy(state->o + (ptrdiff_t)r * state->o_row, part->o + r * v_dim, v_dim * sizeof *state->o);
    }
}

static void store(const struct fovea_attention_layout *plan, const struct part *part,
                  const struct fovea_attention_state *state)
{
    const size_t v_dim = state->v_dim;
    memcpy(part->m, state->m, state->rows * sizeof *state->m);
    memcpy(part->l, state->l, state->rows * sizeof *state->l);
    if (state->o_row == 1) {
        plan->kernels->transpose.run(v_dim, state->rows, 1.0f, state->o, state->o_col, part->o, (ptrdiff_t)v_dim);
        return;
    }
    for (size_t r = 0; r < state->rows; r++) {
        memcpy(part->o + r * v_dim, state->o + (ptrdiff_t)r * state->o_row, v_dim * sizeof *state->o);
    }
}

// Some rows of a state, and two states of them in scratch.
struct rows {
    const struct fovea_attention_layout *plan;
    void *state;
    size_t first, parts; ///< parts: those taken so far, which the header learns when all rows are done
    struct fovea_attention_state a, b;
};

// Two states of `count` rows in a worker's scratch.
static struct rows rows_in(const struct fovea_attention_layout *plan, void *state, size_t first, size_t count,
                           size_t most, bool prefill, float *scratch)
{
    const struct header *const header = state;
    float *const memory = scratch + plan->states_at;
    const size_t v_dim = plan->desc.v_dim;
    return (struct rows){plan,
                         state,
                         first,
                         header->parts,
                         fovea_attention_state_in(memory, prefill, count, most, v_dim),
                         fovea_attention_state_in(memory + plan->state_floats, prefill, count, most, v_dim)};
}

// Makes room for one more part behind the last one. rows->a and rows->b are lost.
static struct part push(struct rows *rows)
{
    const struct header *const header = rows->state;
    if (rows->parts == header->parts_max) {
        struct part into = part_of(rows->state, 0, rows->first), from = part_of(rows->state, 1, rows->first);
        load(rows->plan, &into, &rows->a);
        load(rows->plan, &from, &rows->b);
        rows->plan->kernels->attention_merge.run(&rows->a, &rows->b);
        store(rows->plan, &into, &rows->a);
        const size_t count = rows->a.rows, v_dim = rows->a.v_dim;
        for (size_t p = 2; p < rows->parts; p++) {
            into = from;
            from = part_of(rows->state, p, rows->first);
            memcpy(into.m, from.m, count * sizeof *into.m);
            memcpy(into.l, from.l, count * sizeof *into.l);
            memcpy(into.o, from.o, count * v_dim * sizeof *into.o);
        }
        rows->parts--;
    }
    return part_of(rows->state, rows->parts++, rows->first);
}

// What the header says once `more` parts came behind those it has.
static void take_parts(struct header *header, size_t more, uint32_t last_split)
{
    header->parts = (uint32_t)fovea_min(header->parts + more, header->parts_max);
    header->split = last_split;
}

// An operation on states, as fovea_run sees a plan and its args.
struct operation {
    struct fovea_work work; ///< one phase
    const struct fovea_attention_layout *plan;
    const struct fovea_attention_args *args; ///< accumulate, finish
    void *state;
    const void *from; ///< merge
};

static size_t first_split(const struct fovea_attention_args *args)
{
    return args->kv_begin / FOVEA_SPLIT;
}

// Whether a block begins in the split that the last part is of.
static bool goes_on(const struct header *header, const struct fovea_attention_args *args)
{
    return header->parts != 0 && header->split == first_split(args);
}

static uint32_t accumulate_tasks(const void *plan, const void *call, uint32_t phase)
{
    (void)plan, (void)phase;
    const struct operation *const op = call;
    const struct fovea_attention_grid grid =
        fovea_attention_grid(op->plan, op->args->batch, op->args->q_len, op->args->kv_len);
    return (uint32_t)(op->args->batch * grid.heads * grid.tiles);
}

static void accumulate_task(const void *unused, const void *call, void *shared, void *scratch, uint32_t phase,
                            uint32_t task)
{
    (void)unused, (void)shared, (void)phase;
    const struct operation *const op = call;
    const struct fovea_attention_layout *const plan = op->plan;
    const struct fovea_attention_args *const args = op->args;
    const struct fovea_attention_grid grid = fovea_attention_grid(plan, args->batch, args->q_len, args->kv_len);
    struct fovea_attention_tile tile;
    fovea_attention_place(plan, args, &grid, task, &tile);
    const size_t head = tile.batch * plan->desc.heads + tile.kv_head * plan->group;
    struct rows rows = rows_in(plan, op->state, head * args->q_len + tile.first, tile.rows,
                               fovea_attention_kernel_of(&tile)->nr, tile.prefill, scratch);
    float *const q = (float *)scratch + plan->q_at;
    struct fovea_attention_copy copy = fovea_attention_copy(plan, 1, scratch);
    fovea_attention_queries(&tile, q);
    for (size_t split = first_split(args); split * FOVEA_SPLIT < args->kv_len; split++) {
        const bool fresh = split != first_split(args) || !goes_on(op->state, args);
        const struct part part = fresh ? push(&rows) : part_of(op->state, rows.parts - 1, rows.first);
        if (!fresh) {
            load(plan, &part, &rows.a);
        }
        struct fovea_attention_part one = {.tile = &tile,
                                           .q = q,
                                           .scratch = scratch,
                                           .state = rows.a,
                                           .fresh = fresh,
                                           .copy = tile.prefill ? &copy : NULL,
                                           .alone = true};
        fovea_attention_split(&one, 1, split);
        if (one.fresh) {
            fovea_attention_clear(&rows.a);
        }
        store(plan, &part, &rows.a);
    }
}

static uint32_t rows_tasks(const void *plan, const void *call, uint32_t phase)
{
    (void)plan, (void)phase;
    return (uint32_t)fovea_ceil_div(rows_of(((const struct operation *)call)->state), TASK_ROWS);
}

// Calls `run` for the rows of a task, 16 at a time, in the form that decoding has.
static void for_rows(const struct operation *op, uint32_t task, float *scratch,
                     void (*run)(const struct operation *op, struct rows *rows))
{
    const size_t end = fovea_min((task + (size_t)1) * TASK_ROWS, rows_of(op->state));
    for (size_t first = task * (size_t)TASK_ROWS; first < end; first += MERGE_ROWS) {
        struct rows rows =
            rows_in(op->plan, op->state, first, fovea_min(MERGE_ROWS, end - first), MERGE_ROWS, false, scratch);
        run(op, &rows);
    }
}

static void merge_rows(const struct operation *op, struct rows *rows)
{
    const struct header *const from = op->from;
    for (size_t p = 0; p < from->parts; p++) {
        const struct part into = push(rows);
        struct part part = part_of((void *)(uintptr_t)op->from, p, rows->first);
        load(op->plan, &part, &rows->a);
        store(op->plan, &into, &rows->a);
    }
}

static void merge_task(const void *plan, const void *call, void *shared, void *scratch, uint32_t phase, uint32_t task)
{
    (void)plan, (void)shared, (void)phase;
    for_rows(call, task, scratch, merge_rows);
}

static void finish_rows(const struct operation *op, struct rows *rows)
{
    const struct fovea_attention_args *const args = op->args;
    const struct fovea_attention_desc call = fovea_attention_call(op->plan, args);
    fovea_attention_clear(&rows->a);
    for (size_t p = 0; p < rows->parts; p++) {
        const struct part part = part_of(op->state, p, rows->first);
        load(op->plan, &part, p == 0 ? &rows->a : &rows->b);
        if (p != 0) {
            op->plan->kernels->attention_merge.run(&rows->a, &rows->b);
        }
    }
    float sinks[MERGE_ROWS] = {0};
    for (size_t r = 0; args->sinks != NULL && r < rows->a.rows; r++) {
        const size_t head = (rows->first + r) / args->q_len % call.heads;
        sinks[r] = fovea_attention_lives(args, head) ? args->sinks[head] : -INFINITY;
    }
    op->plan->kernels->attention_finish.run(&rows->a, args->sinks != NULL ? sinks : NULL,
                                            args->lse != NULL ? args->lse + rows->first : NULL);
    for (size_t r = 0; r < rows->a.rows; r++) {
        const size_t row = rows->first + r, head = row / args->q_len;
        memcpy(args->out + head / call.heads * call.out.batch + head % call.heads * call.out.head +
                   row % args->q_len * call.out.row,
               rows->a.o + (ptrdiff_t)r * rows->a.o_row, call.v_dim * sizeof *args->out);
    }
}

static void finish_task(const void *plan, const void *call, void *shared, void *scratch, uint32_t phase, uint32_t task)
{
    (void)plan, (void)shared, (void)phase;
    for_rows(call, task, scratch, finish_rows);
}

static const struct fovea_operator accumulate_operator = {accumulate_tasks, accumulate_task, NULL};
static const struct fovea_operator merge_operator = {rows_tasks, merge_task, NULL};
static const struct fovea_operator finish_operator = {rows_tasks, finish_task, NULL};

static enum fovea_status run(const struct fovea_operator *operator, struct operation * op, void *scratch,
                             const struct fovea_executor *executor)
{
    op->work = (struct fovea_work){.scratch_bytes = op->plan->work.scratch_bytes, .phases = 1};
    return fovea_run(operator, & op->work, op, NULL, scratch, executor);
}

enum fovea_status fovea_attention_state_size(const void *plan, size_t batch, size_t q_len, size_t parts, size_t *bytes)
{
    FOVEA_CHECK(plan != NULL && bytes != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_is_plan(plan, FOVEA_PLAN_ATTENTION), FOVEA_ERR_STRUCT);
    const struct fovea_attention_desc *const d = &((const struct fovea_attention_layout *)plan)->desc;
    FOVEA_CHECK(batch <= d->batch && q_len <= d->q_len, FOVEA_ERR_SHAPE);
    FOVEA_CHECK(parts >= 2 && parts <= PARTS_MAX, FOVEA_ERR_VALUE);
    size_t n = batch;
    FOVEA_CHECK(fovea_mul(n, d->heads, &n) && fovea_mul(n, q_len, &n) && fovea_mul(n, d->v_dim + 2, &n) &&
                    fovea_mul(n, parts * sizeof(float), &n) && fovea_add(n, sizeof(struct header), &n),
                FOVEA_ERR_OVERFLOW);
    *bytes = n;
    return FOVEA_OK;
}

enum fovea_status fovea_attention_state_init(const void *plan, size_t batch, size_t q_len, size_t parts, void *state)
{
    size_t bytes = 0;
    FOVEA_TRY(fovea_attention_state_size(plan, batch, q_len, parts, &bytes));
    FOVEA_CHECK(state != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(state), FOVEA_ERR_ALIGN);
    const struct fovea_attention_desc *const d = &((const struct fovea_attention_layout *)plan)->desc;
    struct header header = {.parts_max = (uint32_t)parts,
                            .batch = batch,
                            .heads = d->heads,
                            .q_len = q_len,
                            .v_dim = d->v_dim,
                            .bytes = bytes};
    memcpy(header.magic, magic, sizeof magic);
    memcpy(state, &header, sizeof header);
    return FOVEA_OK;
}

// Whether memory holds a state that goes with the plan.
static enum fovea_status check_state(const struct fovea_attention_layout *plan, const void *state)
{
    FOVEA_CHECK(plan != NULL && state != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_is_plan(plan, FOVEA_PLAN_ATTENTION), FOVEA_ERR_STRUCT);
    FOVEA_CHECK(fovea_aligned(state), FOVEA_ERR_ALIGN);
    const struct header *const header = state;
    FOVEA_CHECK(memcmp(header->magic, magic, sizeof magic) == 0 && header->parts <= header->parts_max,
                FOVEA_ERR_FORMAT);
    FOVEA_CHECK(header->heads == plan->desc.heads && header->v_dim == plan->desc.v_dim &&
                    header->batch <= plan->desc.batch && header->q_len <= plan->desc.q_len,
                FOVEA_ERR_SHAPE);
    size_t bytes = 0;
    FOVEA_CHECK(fovea_attention_state_size(plan, (size_t)header->batch, (size_t)header->q_len, header->parts_max,
                                           &bytes) == FOVEA_OK &&
                    bytes == header->bytes,
                FOVEA_ERR_FORMAT);
    return FOVEA_OK;
}

enum fovea_status fovea_attention_state_accumulate(const void *plan, const struct fovea_attention_args *args,
                                                   void *state, void *scratch, const struct fovea_executor *executor)
{
    FOVEA_TRY(fovea_attention_check(plan, args, NULL));
    FOVEA_TRY(check_state(plan, state));
    FOVEA_CHECK(args->q_starts == NULL, FOVEA_ERR_UNSUPPORTED);
    struct header *const header = state;
    FOVEA_CHECK(args->batch == header->batch && args->q_len == header->q_len, FOVEA_ERR_SHAPE);
    if (rows_of(header) == 0 || args->kv_begin >= args->kv_len) {
        return FOVEA_OK;
    }
    struct operation op = {.plan = plan, .args = args, .state = state};
    FOVEA_TRY(run(&accumulate_operator, &op, scratch, executor));
    const size_t last = (args->kv_len - 1) / FOVEA_SPLIT;
    take_parts(header, last - first_split(args) + !goes_on(header, args), (uint32_t)last);
    return FOVEA_OK;
}

static bool overlap(const struct header *a, const struct header *b)
{
    return (uintptr_t)a < (uintptr_t)b + b->bytes && (uintptr_t)b < (uintptr_t)a + a->bytes;
}

enum fovea_status fovea_attention_state_merge(const void *plan, void *into, const void *from, void *scratch,
                                              const struct fovea_executor *executor)
{
    FOVEA_TRY(check_state(plan, into));
    FOVEA_TRY(check_state(plan, from));
    struct header *const header = into;
    const struct header *const other = from;
    FOVEA_CHECK(header->batch == other->batch && header->q_len == other->q_len, FOVEA_ERR_SHAPE);
    FOVEA_CHECK(!overlap(header, other), FOVEA_ERR_VALUE);
    if (rows_of(header) == 0 || other->parts == 0) {
        return FOVEA_OK;
    }
    struct operation op = {.plan = plan, .state = into, .from = from};
    FOVEA_TRY(run(&merge_operator, &op, scratch, executor));
    take_parts(header, other->parts, other->split);
    return FOVEA_OK;
}

enum fovea_status fovea_attention_state_finish(const void *plan, const void *state,
                                               const struct fovea_attention_args *args, void *scratch,
                                               const struct fovea_executor *executor)
{
    FOVEA_TRY(check_state(plan, state));
    FOVEA_CHECK(args != NULL, FOVEA_ERR_NULL);
    const struct header *const header = state;
    FOVEA_CHECK(args->batch == header->batch && args->q_len == header->q_len, FOVEA_ERR_SHAPE);
    if (rows_of(header) == 0) {
        return FOVEA_OK;
    }
    FOVEA_CHECK(args->out != NULL && (args->live_heads != NULL || args->live_count == 0), FOVEA_ERR_NULL);
    if (args->batch_strides != NULL) {
        const struct fovea_attention_desc call = fovea_attention_call(plan, args);
        FOVEA_TRY(fovea_attention_check_out(&call, NULL));
    }
    struct operation op = {.plan = plan, .args = args, .state = (void *)(uintptr_t)state};
    return run(&finish_operator, &op, scratch, executor);
}
