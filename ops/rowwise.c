// SPDX-License-Identifier: Apache-2.0
// ops/rowwise.c - runs LayerNorm, RMSNorm, softmax, activations, addition, dropout and rotary positions over
// the rows of a matrix.
//
// A task is about 16 K elements, some microseconds. Elementwise operators also cut long rows, and treat a matrix
// without gaps as one row; the others need whole rows.
#include "ops/rowwise.h"
#include <string.h>

enum { TASK_ELEMENTS = 1 << 14 };

static bool elementwise(enum fovea_rowwise_op op)
{
    return op != FOVEA_ROWWISE_SOFTMAX && op != FOVEA_ROWWISE_LOG_SOFTMAX && !fovea_rowwise_is_norm(op) &&
           op != FOVEA_ROWWISE_ROTARY;
}

static struct fovea_rowwise_grid cut(const struct fovea_rowwise_desc *d, size_t rows)
{
    struct fovea_rowwise_grid grid = {rows, d->cols, 1, 1};
    if (elementwise(d->op)) {
        const bool dense =
            d->ldx == d->cols && d->ldy == d->cols && (!fovea_rowwise_has_x2(d->op) || d->ldx2 == d->cols);
        if (dense) {
            grid = (struct fovea_rowwise_grid){1, rows * d->cols, 1, 1};
        }
        grid.pieces = fovea_ceil_div(grid.length, TASK_ELEMENTS);
    }
    if (grid.pieces <= 1 && grid.length != 0) {
        grid.lines_each = grid.length < TASK_ELEMENTS ? TASK_ELEMENTS / grid.length : 1;
    }
    return grid;
}

static size_t count(const struct fovea_rowwise_grid *grid)
{
    return grid->length == 0 ? 0 : fovea_ceil_div(grid->lines, grid->lines_each) * grid->pieces;
}

size_t fovea_rowwise_count(const struct fovea_rowwise_desc *d)
{
    const struct fovea_rowwise_grid grid = cut(d, d->rows);
    return count(&grid);
}

static uint32_t begin(struct fovea_job *job)
{
    const struct fovea_rowwise_layout *const plan = job->plan;
    job->rowwise = cut(&plan->desc, ((const struct fovea_rowwise_args *)job->args)->rows);
    return (uint32_t)count(&job->rowwise);
}

// y = x with dropout, plus x2 if there is one; x2 may be y. The elements go through a buffer that stays in L1.
static void run_dropout(const struct fovea_rowwise_layout *plan, const struct fovea_rowwise_args *args,
                        uint64_t element, size_t n, const float *x, const float *x2, float *y)
{
    enum { BUFFER = 1024 };
    float buffer[BUFFER];
    struct fovea_dropout dropout = plan->dropout;
    dropout.seed[0] = (uint32_t)args->seed;
    dropout.seed[1] = (uint32_t)(args->seed >> 32);
    dropout.site = args->site;
    for (size_t i = 0, m; i < n; i += m) {
        m = fovea_min(BUFFER, n - i);
        dropout.element = element + i;
        plan->kernels->dropout.run(&dropout, m, x + i, x2 != NULL ? buffer : y + i);
        if (x2 != NULL) {
            plan->kernels->add.run(m, buffer, x2 + i, y + i);
        }
    }
}

// The sequence of a row, [begin, end).
struct sequence {
    size_t number, begin, end;
};

static struct sequence sequence_of(const struct fovea_rowwise_args *args, size_t row)
{
    if (args->row_starts == NULL) {
        const size_t begin = row - row % args->len;
        return (struct sequence){row / args->len, begin, begin + fovea_min(args->len, args->rows - begin)};
    }
    size_t low = 0, high = args->sequences; // starts[low] <= row < starts[high]
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (args->row_starts[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (struct sequence){low, args->row_starts[low], args->row_starts[low + 1]};
}

// The position of a sequence's first row.
static size_t start_of(const struct fovea_rowwise_args *args, size_t sequence)
{
    return args->starts != NULL ? args->starts[sequence] : args->position;
}

static size_t position_of(const struct fovea_rowwise_args *args, size_t row)
{
    if (args->positions != NULL) {
        return args->positions[row];
    }
    const struct sequence sequence = sequence_of(args, row);
    return start_of(args, sequence.number) + (row - sequence.begin);
}

// The heads of one row.
static void run_rotary(const struct fovea_rowwise_layout *plan, const struct fovea_rowwise_args *args, size_t row,
                       const float *x, float *y)
{
    const struct fovea_rowwise_desc *const d = &plan->desc;
    const size_t pairs = d->rotary_dim / 2, dim = d->cols / d->heads;
    const float *cos = NULL, *sin = NULL; // if nothing is rotated
    if (pairs != 0) {
        const size_t position = position_of(args, row);
        cos = args->cos + position * pairs;
        sin = args->sin + position * pairs;
    }
    for (size_t h = 0; h < d->heads; h++, x += dim, y += dim) {
        plan->kernels->rotary.run(pairs, d->rotary_adjacent, x, cos, sin, y);
        if (x != y && d->rotary_dim != dim) {
            memcpy(y + d->rotary_dim, x + d->rotary_dim, (dim - d->rotary_dim) * sizeof *y);
        }
    }
}

// Elements [begin, begin + n) of one line.
static void run_line(const struct fovea_rowwise_layout *plan, const struct fovea_rowwise_args *args, size_t line,
                     size_t begin, size_t n)
{
    const struct fovea_rowwise_desc *const d = &plan->desc;
    const float *const x = args->x + line * d->ldx + begin;
    const float *const x2 = fovea_rowwise_has_x2(d->op) ? args->x2 + line * d->ldx2 + begin : NULL;
    float *const y = args->y + line * d->ldy + begin;
    if (plan->unary != NULL) {
        plan->unary->run(n, x, y);
    } else if (plan->norm != NULL) {
        plan->norm->run(n, d->eps, x, args->gamma, args->beta, y);
    } else if (d->op == FOVEA_ROWWISE_ROTARY) {
        run_rotary(plan, args, line, x, y);
    } else if (plan->dropout.threshold != 0 && !args->eval) {
        run_dropout(plan, args, args->element + line * d->cols + begin, n, x, x2, y);
    } else if (x2 != NULL) {
        plan->kernels->add.run(n, x, x2, y);
    } else if (x != y) {
        memcpy(y, x, n * sizeof *y);
    }
}

static void run_task(const struct fovea_job *job, void *scratch, uint32_t task)
{
    (void)scratch;
    const struct fovea_rowwise_grid *const grid = &job->rowwise;
    const size_t begin = grid->pieces == 1 ? 0 : task % grid->pieces * TASK_ELEMENTS;
    const size_t n = grid->pieces == 1 ? grid->length : fovea_min(TASK_ELEMENTS, grid->length - begin);
    const size_t first = task / grid->pieces * grid->lines_each;
    const size_t last = fovea_min(grid->lines, first + grid->lines_each);
    for (size_t line = first; line < last; line++) {
        run_line(job->plan, job->args, line, begin, n);
    }
}

const struct fovea_operator fovea_rowwise_operator = {.begin = begin, .task = run_task};

static enum fovea_status check_row_starts(const struct fovea_rowwise_args *args, const struct fovea_why *why)
{
    const uint32_t *const starts = args->row_starts;
    FOVEA_REQUIRE(starts[0] == 0 && starts[args->sequences] == args->rows, FOVEA_ERR_SHAPE, why,
                  "rowwise: args.row_starts is from %u to %u, not from 0 to %zu", (unsigned)starts[0],
                  (unsigned)starts[args->sequences], args->rows);
    for (size_t s = 0; s < args->sequences; s++) {
        FOVEA_REQUIRE(starts[s] <= starts[s + 1], FOVEA_ERR_SHAPE, why,
                      "rowwise: args.row_starts[%zu] is %u, below the %u before it", s + 1, (unsigned)starts[s + 1],
                      (unsigned)starts[s]);
    }
    return FOVEA_OK;
}

// Checks that the position of each row exists.
static enum fovea_status check_positions(const struct fovea_rowwise_desc *d, const struct fovea_rowwise_args *args,
                                         const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("rowwise", why, {"args.cos", args->cos}, {"args.sin", args->sin});
    for (size_t r = 0; args->positions != NULL && r < args->rows; r++) {
        FOVEA_REQUIRE(args->positions[r] < d->rotary_positions, FOVEA_ERR_SHAPE, why,
                      "rowwise: args.positions[%zu] is %u of %zu", r, (unsigned)args->positions[r],
                      d->rotary_positions);
    }
    if (args->positions != NULL) {
        return FOVEA_OK;
    }
    FOVEA_REQUIRE(args->len >= 1 || args->row_starts != NULL, FOVEA_ERR_SHAPE, why, "rowwise: args.len is 0");
    FOVEA_TRY(args->row_starts != NULL ? check_row_starts(args, why) : FOVEA_OK);
    const bool alike = args->row_starts == NULL && args->starts == NULL; // the first one is as long as any
    for (size_t r = 0; r < (alike ? 1 : args->rows);) {
        const struct sequence sequence = sequence_of(args, r);
        const size_t len = sequence.end - sequence.begin, start = start_of(args, sequence.number);
        FOVEA_REQUIRE(len <= d->rotary_positions && start <= d->rotary_positions - len, FOVEA_ERR_SHAPE, why,
                      "rowwise: %zu rows from position %zu on, of %zu", len, start, d->rotary_positions);
        r = sequence.end;
    }
    return FOVEA_OK;
}

static enum fovea_status check_args(const struct fovea_rowwise_layout *plan, const struct fovea_rowwise_args *args,
                                    const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("rowwise", why, {"plan", plan}, {"args", args});
    FOVEA_REQUIRE(fovea_is_plan(plan, FOVEA_PLAN_ROWWISE), FOVEA_ERR_STRUCT, why,
                  "rowwise: the plan is not a rowwise plan");
    const struct fovea_rowwise_desc *const d = &plan->desc;
    const size_t rows = args->rows;
    FOVEA_REQUIRE(rows <= d->rows, FOVEA_ERR_SHAPE, why, "rowwise: args.rows is %zu, more than the plan's %zu", rows,
                  d->rows);
    FOVEA_REQUIRE(args->eval <= 1, FOVEA_ERR_ENUM, why, "rowwise: args.eval is %u, neither 0 nor 1",
                  (unsigned)args->eval);
    if (rows == 0 || d->cols == 0) {
        return FOVEA_OK;
    }
    const bool add = fovea_rowwise_has_x2(d->op);
    FOVEA_REQUIRE_POINTERS("rowwise", why, {"args.x", args->x}, {"args.y", args->y});
    FOVEA_REQUIRE(!add || args->x2 != NULL, FOVEA_ERR_NULL, why, "rowwise: args.x2 is NULL, but the plan adds it");
    // In place with another stride, a task would overwrite what its neighbour reads.
    FOVEA_REQUIRE(args->y != args->x || d->ldy == d->ldx || rows == 1, FOVEA_ERR_STRIDE, why,
                  "rowwise: y is x, with ldy %zu and ldx %zu", d->ldy, d->ldx);
    FOVEA_REQUIRE(!add || args->y != args->x2 || d->ldy == d->ldx2 || rows == 1, FOVEA_ERR_STRIDE, why,
                  "rowwise: y is x2, with ldy %zu and ldx2 %zu", d->ldy, d->ldx2);
    return d->op == FOVEA_ROWWISE_ROTARY && d->rotary_dim != 0 ? check_positions(d, args, why) : FOVEA_OK;
}

enum fovea_status fovea_explain_rowwise_call(const void *plan, const struct fovea_rowwise_args *args, char *text,
                                             size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    FOVEA_TRY(check_args(plan, args, &why));
    fovea_say(&why, "rowwise: %zux%zu", args->rows, ((const struct fovea_rowwise_layout *)plan)->desc.cols);
    return FOVEA_OK;
}

enum fovea_status fovea_rowwise(const void *plan, const struct fovea_rowwise_args *args, void *shared, void *scratch,
                                const struct fovea_executor *executor)
{
    FOVEA_TRY(check_args(plan, args, NULL));
    return fovea_run(&fovea_rowwise_operator, plan, args, shared, scratch, executor);
}

uint32_t fovea_rowwise_tasks(const void *plan, const struct fovea_rowwise_args *args, uint32_t phase)
{
    const bool right = check_args(plan, args, NULL) == FOVEA_OK;
    return right ? fovea_count_tasks(&fovea_rowwise_operator, plan, args, phase) : 0;
}

enum fovea_status fovea_rowwise_task(const void *plan, const struct fovea_rowwise_args *args, void *shared,
                                     void *scratch, uint32_t phase, uint32_t task)
{
    FOVEA_TRY(check_args(plan, args, NULL));
    return fovea_run_task(&fovea_rowwise_operator, plan, args, shared, scratch, phase, task);
}
