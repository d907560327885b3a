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

struct fovea_rowwise_sequence fovea_rowwise_sequence(const struct fovea_rowwise_args *args, size_t row)
{
    size_t number = 0, begin = 0, end = 0;
    if (args->starts == NULL) {
        number = row / args->len;
        begin = number * args->len;
        end = begin + fovea_min(args->len, args->rows - begin);
    } else {
        size_t high = args->sequences; // starts[number] <= row < starts[high]
        while (high - number > 1) {
            const size_t middle = number + (high - number) / 2;
            if (args->starts[middle] <= row) {
                number = middle;
            } else {
                high = middle;
            }
        }
        begin = args->starts[number];
        end = args->starts[number + 1];
    }
    const size_t position = args->positions != NULL ? args->positions[number] : args->position;
    return (struct fovea_rowwise_sequence){begin, end, position};
}

static size_t position_of(const struct fovea_rowwise_args *args, size_t row)
{
    if (args->row_positions != NULL) {
        return args->row_positions[row];
    }
    const struct fovea_rowwise_sequence sequence = fovea_rowwise_sequence(args, row);
    return sequence.position + (row - sequence.begin);
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

enum fovea_status fovea_rowwise(const void *plan, const struct fovea_rowwise_args *args, void *shared, void *scratch,
                                const struct fovea_executor *executor)
{
    FOVEA_TRY(fovea_rowwise_check_call(plan, args, NULL));
    return fovea_run(&fovea_rowwise_operator, plan, args, shared, scratch, executor);
}

uint32_t fovea_rowwise_tasks(const void *plan, const struct fovea_rowwise_args *args, uint32_t phase)
{
    const bool right = fovea_rowwise_check_call(plan, args, NULL) == FOVEA_OK;
    return right ? fovea_count_tasks(&fovea_rowwise_operator, plan, args, phase) : 0;
}

enum fovea_status fovea_rowwise_task(const void *plan, const struct fovea_rowwise_args *args, void *shared,
                                     void *scratch, uint32_t phase, uint32_t task)
{
    FOVEA_TRY(fovea_rowwise_check_call(plan, args, NULL));
    return fovea_run_task(&fovea_rowwise_operator, plan, args, shared, scratch, phase, task);
}
