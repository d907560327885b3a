// SPDX-License-Identifier: Apache-2.0
// ops/attention_state.c - attention states in memory: accumulating keys, merging, finishing.
#include "fovea/attention_state.h"
#include "ops/attention_parts.h"
#include <math.h>
#include <string.h>

enum { PARTS_MAX = UINT16_MAX, TASK_ROWS = 256 };

static const char magic[8] = {'F', 'O', 'V', 'E', 'A', 'S', '0', '1'};

// An operation on states, passed to fovea_run as its plan and args.
struct operation {
    struct fovea_work work; ///< one phase
    const struct fovea_attention_layout *plan;
    const struct fovea_attention_args *args; ///< accumulate, finish
    void *state;
    const void *from;   ///< merge
    size_t first, rows; ///< the rows of the state it works on: all, or those of one entry of a ragged batch
    size_t entry;       ///< number of that entry, otherwise 0
    size_t kv_len;      ///< accumulate: kv_len of the call; an entry may have fewer keys, but the splits are the same
                        ///< for all rows
};

static size_t first_split(const struct fovea_attention_args *args)
{
    return args->kv_begin / FOVEA_SPLIT;
}

// Whether a block of keys begins in the split of the state's last part.
static bool goes_on(const struct fovea_state_header *header, const struct fovea_attention_args *args)
{
    return header->parts != 0 && header->split == first_split(args);
}

static uint32_t begin_accumulate(struct fovea_job *job)
{
    const struct operation *const op = job->args;
    const struct fovea_attention_args *const args = op->args;
    job->attention = fovea_attention_grid(op->plan, args->batch, args->q_len, args->kv_len);
    job->attention.first = op->entry;
    return (uint32_t)(args->batch * job->attention.heads * job->attention.tiles);
}

static void accumulate_task(const struct fovea_job *job, void *scratch, uint32_t task)
{
    const struct operation *const op = job->args;
    const struct fovea_attention_layout *const plan = op->plan;
    const struct fovea_attention_args *const args = op->args;
    struct fovea_attention_tile tile;
    fovea_attention_place(plan, args, &job->attention, task, &tile);
    const size_t head = (tile.batch - op->entry) * plan->desc.heads + tile.kv_head * plan->group;
    struct fovea_state_rows rows =
        fovea_state_rows_in(plan, op->state, op->first + head * args->q_len + tile.first, tile.rows,
                            fovea_attention_queries_most(&tile), tile.prefill, scratch);
    float *const q = (float *)scratch + plan->q_at;
    struct fovea_attention_copy copy = fovea_attention_copy(plan, 1, scratch);
    fovea_attention_queries(&tile, q);
    for (size_t split = first_split(args); split * FOVEA_SPLIT < op->kv_len; split++) {
        const bool fresh = split != first_split(args) || !goes_on(op->state, args);
        const struct fovea_state_part part =
            fresh ? fovea_state_push(&rows) : fovea_state_part(op->state, rows.parts - 1, rows.first);
        if (!fresh) {
            fovea_state_load(plan, &part, &rows.a);
        }
        struct fovea_attention_sweep one = {.tile = &tile,
                                            .q = q,
                                            .scratch = scratch,
                                            .state = rows.a,
                                            .fresh = fresh,
                                            .prefill.copy = &copy,
                                            .decode.alone = true};
        fovea_attention_split(&one, 1, split);
        if (one.fresh) {
            fovea_attention_clear(&rows.a);
        }
        fovea_state_store(plan, &part, &rows.a);
    }
}

static uint32_t begin_rows(struct fovea_job *job)
{
    return (uint32_t)fovea_ceil_div(((const struct operation *)job->args)->rows, TASK_ROWS);
}

// Calls `run` for the rows of a task, in the layout of decoding: as many at a time as a block has, for whose states
// there is room in scratch.
static void for_rows(const struct operation *op, uint32_t task, float *scratch,
                     void (*run)(const struct operation *op, struct fovea_state_rows *rows))
{
    const size_t most = op->plan->kernels->attention_decode.queries;
    const size_t end = fovea_min((task + (size_t)1) * TASK_ROWS, op->rows);
    for (size_t first = task * (size_t)TASK_ROWS; first < end; first += most) {
        struct fovea_state_rows rows = fovea_state_rows_in(op->plan, op->state, op->first + first,
                                                           fovea_min(most, end - first), most, false, scratch);
        run(op, &rows);
    }
}

static void merge_rows(const struct operation *op, struct fovea_state_rows *rows)
{
    const struct fovea_state_header *const from = op->from;
    for (size_t p = 0; p < from->parts; p++) {
        const struct fovea_state_part into = fovea_state_push(rows);
        struct fovea_state_part part = fovea_state_part((void *)(uintptr_t)op->from, p, rows->first);
        fovea_state_load(op->plan, &part, &rows->a);
        fovea_state_store(op->plan, &into, &rows->a);
    }
}

static void merge_task(const struct fovea_job *job, void *scratch, uint32_t task)
{
    for_rows(job->args, task, scratch, merge_rows);
}

static void finish_rows(const struct operation *op, struct fovea_state_rows *rows)
{
    const struct fovea_attention_args *const args = op->args;
    const struct fovea_attention_desc call = fovea_attention_call(op->plan, args);
    fovea_attention_clear(&rows->a);
    for (size_t p = 0; p < rows->parts; p++) {
        const struct fovea_state_part part = fovea_state_part(op->state, p, rows->first);
        fovea_state_load(op->plan, &part, p == 0 ? &rows->a : &rows->b);
        if (p != 0) {
            op->plan->kernels->attention_merge.run(&rows->a, &rows->b);
        }
    }
    float sinks[FOVEA_TILE_ROWS_MAX] = {0};
    const size_t first = rows->first - op->first;
    for (size_t r = 0; args->sinks != NULL && r < rows->a.rows; r++) {
        const size_t head = (first + r) / args->q_len % call.heads;
        sinks[r] = fovea_attention_lives(args, head) ? args->sinks[head] : -INFINITY;
    }
    op->plan->kernels->attention_finish.run(&rows->a, args->sinks != NULL ? sinks : NULL,
                                            args->lse != NULL ? args->lse + first : NULL);
    for (size_t r = 0; r < rows->a.rows; r++) {
        const size_t row = first + r, head = row / args->q_len;
        memcpy(args->out + head / call.heads * call.out.batch + head % call.heads * call.out.head +
                   row % args->q_len * call.out.row,
               rows->a.o + (ptrdiff_t)r * rows->a.o_row, call.v_dim * sizeof *args->out);
    }
}

static void finish_task(const struct fovea_job *job, void *scratch, uint32_t task)
{
    for_rows(job->args, task, scratch, finish_rows);
}

static const struct fovea_operator accumulate_operator = {.begin = begin_accumulate, .task = accumulate_task};
static const struct fovea_operator merge_operator = {.begin = begin_rows, .task = merge_task};
static const struct fovea_operator finish_operator = {.begin = begin_rows, .task = finish_task};

static enum fovea_status run(const struct fovea_operator *kind, struct operation *op, void *scratch,
                             const struct fovea_executor *executor)
{
    op->work = (struct fovea_work){.scratch_bytes = op->plan->work.scratch_bytes, .phases = 1};
    return fovea_run(kind, &op->work, op, NULL, scratch, executor);
}

// Runs an operation on all rows or, if the call is ragged, on those of one entry after another.
static enum fovea_status run_entries(const struct fovea_operator *kind, struct operation *op, void *scratch,
                                     const struct fovea_executor *executor)
{
    const struct fovea_attention_args *const args = op->args;
    if (args->q_starts == NULL) {
        op->rows = fovea_state_count(op->state);
        return run(kind, op, scratch, executor);
    }
    for (size_t b = 0; b < args->batch; b++) {
        size_t strides[4];
        const struct fovea_attention_args entry = fovea_attention_entry(op->plan, args, b, strides);
        struct operation one = *op;
        one.args = &entry;
        one.entry = b;
        one.first = args->q_starts[b] * op->plan->desc.heads;
        one.rows = entry.q_len * op->plan->desc.heads;
        FOVEA_TRY(one.rows == 0 ? FOVEA_OK : run(kind, &one, scratch, executor));
    }
    return FOVEA_OK;
}

// Whether a plan allows this many queries, or a ragged batch with this total.
static bool has_room(const struct fovea_attention_layout *plan, uint64_t batch, uint64_t q_len)
{
    const struct fovea_attention_desc *const d = &plan->desc;
    const bool ragged = batch == 1 && d->batch != 0;
    return fovea_product(batch, q_len) <= plan->rows && (ragged || (batch <= d->batch && q_len <= d->q_len));
}

enum fovea_status fovea_attention_state_size(const void *plan, size_t batch, size_t q_len, size_t parts, size_t *bytes)
{
    FOVEA_CHECK(plan != NULL && bytes != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_is_plan(plan, FOVEA_PLAN_ATTENTION), FOVEA_ERR_STRUCT);
    const struct fovea_attention_desc *const d = &((const struct fovea_attention_layout *)plan)->desc;
    FOVEA_CHECK(has_room(plan, batch, q_len), FOVEA_ERR_SHAPE);
    FOVEA_CHECK(parts >= 2 && parts <= PARTS_MAX, FOVEA_ERR_VALUE);
    size_t n = batch;
    FOVEA_CHECK(fovea_mul(n, d->heads, &n) && fovea_mul(n, q_len, &n) && fovea_mul(n, d->v_dim + 2, &n) &&
                    fovea_mul(n, parts * sizeof(float), &n) && fovea_add(n, sizeof(struct fovea_state_header), &n) &&
                    fovea_add(n, FOVEA_ALIGNMENT - 1, &n),
                FOVEA_ERR_OVERFLOW);
    *bytes = n - n % FOVEA_ALIGNMENT;
    return FOVEA_OK;
}

enum fovea_status fovea_attention_state_init(const void *plan, size_t batch, size_t q_len, size_t parts, void *state)
{
    size_t bytes = 0;
    FOVEA_TRY(fovea_attention_state_size(plan, batch, q_len, parts, &bytes));
    FOVEA_CHECK(state != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(state), FOVEA_ERR_ALIGN);
    const struct fovea_attention_desc *const d = &((const struct fovea_attention_layout *)plan)->desc;
    struct fovea_state_header header = {.parts_max = (uint32_t)parts,
                                        .batch = batch,
                                        .heads = d->heads,
                                        .q_len = q_len,
                                        .v_dim = d->v_dim,
                                        .bytes = bytes};
    memcpy(header.magic, magic, sizeof magic);
    memcpy(state, &header, sizeof header);
    return FOVEA_OK;
}

// Checks that memory holds a state that matches the plan.
static enum fovea_status check_state(const struct fovea_attention_layout *plan, const void *state)
{
    FOVEA_CHECK(plan != NULL && state != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_is_plan(plan, FOVEA_PLAN_ATTENTION), FOVEA_ERR_STRUCT);
    FOVEA_CHECK(fovea_aligned(state), FOVEA_ERR_ALIGN);
    const struct fovea_state_header *const header = state;
    FOVEA_CHECK(memcmp(header->magic, magic, sizeof magic) == 0 && header->parts <= header->parts_max,
                FOVEA_ERR_FORMAT);
    FOVEA_CHECK(header->heads == plan->desc.heads && header->v_dim == plan->desc.v_dim &&
                    has_room(plan, header->batch, header->q_len),
                FOVEA_ERR_SHAPE);
    size_t bytes = 0;
    FOVEA_CHECK(fovea_attention_state_size(plan, (size_t)header->batch, (size_t)header->q_len, header->parts_max,
                                           &bytes) == FOVEA_OK &&
                    bytes == header->bytes,
                FOVEA_ERR_FORMAT);
    return FOVEA_OK;
}

// Checks that it is a state of the queries of a call; those of a ragged batch must start at row 0.
static enum fovea_status check_queries(const struct fovea_state_header *state, const struct fovea_attention_args *args)
{
    const bool ragged = args->q_starts != NULL;
    FOVEA_CHECK(state->batch == (ragged ? 1 : args->batch) && (!ragged || args->q_starts[0] == 0), FOVEA_ERR_SHAPE);
    FOVEA_CHECK(state->q_len == (ragged ? args->q_starts[args->batch] : args->q_len), FOVEA_ERR_SHAPE);
    return FOVEA_OK;
}

enum fovea_status fovea_attention_state_accumulate(const void *plan, const struct fovea_attention_args *args,
                                                   void *state, void *scratch, const struct fovea_executor *executor)
{
    FOVEA_TRY(fovea_attention_check(plan, args, NULL));
    FOVEA_TRY(check_state(plan, state));
    FOVEA_TRY(check_queries(state, args));
    struct fovea_state_header *const header = state;
    if (fovea_state_count(header) == 0 || args->kv_begin >= args->kv_len) {
        return FOVEA_OK;
    }
    struct operation op = {.plan = plan, .args = args, .state = state, .kv_len = args->kv_len};
    FOVEA_TRY(run_entries(&accumulate_operator, &op, scratch, executor));
    const size_t last = (args->kv_len - 1) / FOVEA_SPLIT;
    fovea_state_take(header, last - first_split(args) + !goes_on(header, args), (uint32_t)last);
    return FOVEA_OK;
}

static bool overlap(const struct fovea_state_header *a, const struct fovea_state_header *b)
{
    return (uintptr_t)a < (uintptr_t)b + b->bytes && (uintptr_t)b < (uintptr_t)a + a->bytes;
}

enum fovea_status fovea_attention_state_merge(const void *plan, void *into, const void *from, void *scratch,
                                              const struct fovea_executor *executor)
{
    FOVEA_TRY(check_state(plan, into));
    FOVEA_TRY(check_state(plan, from));
    struct fovea_state_header *const header = into;
    const struct fovea_state_header *const other = from;
    FOVEA_CHECK(header->batch == other->batch && header->q_len == other->q_len, FOVEA_ERR_SHAPE);
    FOVEA_CHECK(!overlap(header, other), FOVEA_ERR_VALUE);
    if (fovea_state_count(header) == 0 || other->parts == 0) {
        return FOVEA_OK;
    }
    struct operation op = {.plan = plan, .state = into, .from = from, .rows = fovea_state_count(header)};
    FOVEA_TRY(run(&merge_operator, &op, scratch, executor));
    fovea_state_take(header, other->parts, other->split);
    return FOVEA_OK;
}

// Checks that the result of the call's queries may be written.
static enum fovea_status check_result(const struct fovea_attention_layout *plan,
                                      const struct fovea_attention_args *args)
{
    FOVEA_CHECK(args->out != NULL && (args->live_heads != NULL || args->live_count == 0), FOVEA_ERR_NULL);
    for (size_t b = 0; args->q_starts != NULL && b < args->batch; b++) {
        FOVEA_TRY(fovea_attention_check_entry(args, b));
    }
    if (args->q_starts == NULL && args->batch_strides == NULL) {
        return FOVEA_OK; // the same as the plan's, already checked
    }
    const struct fovea_attention_desc call = fovea_attention_all_queries(plan, args);
    return fovea_attention_check_out(&call, NULL);
}

enum fovea_status fovea_attention_state_finish(const void *plan, const void *state,
                                               const struct fovea_attention_args *args, void *scratch,
                                               const struct fovea_executor *executor)
{
    FOVEA_TRY(check_state(plan, state));
    FOVEA_CHECK(args != NULL, FOVEA_ERR_NULL);
    const struct fovea_attention_desc *const d = &((const struct fovea_attention_layout *)plan)->desc;
    FOVEA_CHECK(args->batch <= d->batch && args->q_len <= d->q_len, FOVEA_ERR_SHAPE);
    FOVEA_TRY(check_queries(state, args));
    if (fovea_state_count(state) == 0) {
        return FOVEA_OK;
    }
    const struct fovea_attention_args result = {.out = args->out,
                                                .lse = args->lse,
                                                .batch = args->batch,
                                                .q_len = args->q_len,
                                                .batch_strides = args->batch_strides,
                                                .sinks = args->sinks,
                                                .live_heads = args->live_heads,
                                                .live_count = args->live_count,
                                                .q_starts = args->q_starts};
    FOVEA_TRY(check_result(plan, &result));
    struct operation op = {.plan = plan, .args = &result, .state = (void *)(uintptr_t)state};
    return run_entries(&finish_operator, &op, scratch, executor);
}
