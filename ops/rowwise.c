// SPDX-License-Identifier: Apache-2.0
// ops/rowwise.c - LayerNorm, RMSNorm, softmax, activations and addition over the rows of a matrix.
//
// A task is about 16 K elements, some microseconds. Elementwise operators cut long rows too, and see a matrix without
// gaps as one row; the others need whole rows.
#include "ops/rowwise.h"
#include <math.h>
#include <string.h>

enum { TASK_ELEMENTS = 1 << 14 };

static const struct fovea_unary_kernel *unary_kernel(const struct fovea_kernels *kernels, enum fovea_rowwise_op op)
{
    switch (op) {
    case FOVEA_ROWWISE_SOFTMAX:
        return &kernels->softmax;
    case FOVEA_ROWWISE_LOG_SOFTMAX:
        return &kernels->log_softmax;
    case FOVEA_ROWWISE_RELU:
        return &kernels->relu;
    case FOVEA_ROWWISE_GELU:
        return &kernels->gelu;
    case FOVEA_ROWWISE_GELU_TANH:
        return &kernels->gelu_tanh;
    case FOVEA_ROWWISE_TANH:
        return &kernels->tanh;
    case FOVEA_ROWWISE_EXP2:
        return &kernels->exp2;
    case FOVEA_ROWWISE_SIN:
        return &kernels->sin;
    case FOVEA_ROWWISE_COS:
        return &kernels->cos;
    case FOVEA_ROWWISE_SILU:
        return &kernels->silu;
    case FOVEA_ROWWISE_LAYERNORM:
    case FOVEA_ROWWISE_RMSNORM:
    case FOVEA_ROWWISE_ADD:
    case FOVEA_ROWWISE_DROPOUT:
    case FOVEA_ROWWISE_DROPOUT_ADD:
        break;
    }
    return NULL;
}

static const struct fovea_norm_kernel *norm_kernel(const struct fovea_kernels *kernels, enum fovea_rowwise_op op)
{
    return op == FOVEA_ROWWISE_LAYERNORM ? &kernels->layernorm : op == FOVEA_ROWWISE_RMSNORM ? &kernels->rmsnorm : NULL;
}

static bool is_norm(enum fovea_rowwise_op op)
{
    return op == FOVEA_ROWWISE_LAYERNORM || op == FOVEA_ROWWISE_RMSNORM;
}

static bool is_dropout(enum fovea_rowwise_op op)
{
    return op == FOVEA_ROWWISE_DROPOUT || op == FOVEA_ROWWISE_DROPOUT_ADD;
}

static bool has_x2(enum fovea_rowwise_op op)
{
    return op == FOVEA_ROWWISE_ADD || op == FOVEA_ROWWISE_DROPOUT_ADD;
}

static bool elementwise(enum fovea_rowwise_op op)
{
    return op != FOVEA_ROWWISE_SOFTMAX && op != FOVEA_ROWWISE_LOG_SOFTMAX && !is_norm(op);
}

static struct fovea_rowwise_grid cut(const struct fovea_rowwise_desc *d, size_t rows)
{
    struct fovea_rowwise_grid grid = {rows, d->cols, 1, 1};
    if (elementwise(d->op)) {
        const bool dense = d->ldx == d->cols && d->ldy == d->cols && (!has_x2(d->op) || d->ldx2 == d->cols);
        if (dense) {
            grid = (struct fovea_rowwise_grid){1, rows * d->cols, 1, 1};
        }
        grid.parts = fovea_ceil_div(grid.length, TASK_ELEMENTS);
    }
    if (grid.parts <= 1 && grid.length != 0) {
        grid.lines_each = grid.length < TASK_ELEMENTS ? TASK_ELEMENTS / grid.length : 1;
    }
    return grid;
}

static size_t count(const struct fovea_rowwise_grid *grid)
{
    return grid->length == 0 ? 0 : fovea_ceil_div(grid->lines, grid->lines_each) * grid->parts;
}

static size_t count_all(const struct fovea_rowwise_desc *d)
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

// y = x with dropout, plus x2 where there is one; x2 may be y. Elements go by way of a buffer that stays in L1.
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

// Elements [begin, begin + n) of one line.
static void run_line(const struct fovea_rowwise_layout *plan, const struct fovea_rowwise_args *args, size_t line,
                     size_t begin, size_t n)
{
    const struct fovea_rowwise_desc *const d = &plan->desc;
    const float *const x = args->x + line * d->ldx + begin;
    const float *const x2 = has_x2(d->op) ? args->x2 + line * d->ldx2 + begin : NULL;
    float *const y = args->y + line * d->ldy + begin;
    if (plan->unary != NULL) {
        plan->unary->run(n, x, y);
    } else if (plan->norm != NULL) {
        plan->norm->run(n, d->eps, x, args->gamma, args->beta, y);
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
    const size_t begin = grid->parts == 1 ? 0 : task % grid->parts * TASK_ELEMENTS;
    const size_t n = grid->parts == 1 ? grid->length : fovea_min(TASK_ELEMENTS, grid->length - begin);
    const size_t first = task / grid->parts * grid->lines_each;
    const size_t last = fovea_min(grid->lines, first + grid->lines_each);
    for (size_t line = first; line < last; line++) {
        run_line(job->plan, job->args, line, begin, n);
    }
}

const struct fovea_operator fovea_rowwise_operator = {.begin = begin, .task = run_task};

static enum fovea_status check_matrix(const char *name, const struct fovea_rowwise_desc *d, size_t ld,
                                      const struct fovea_why *why)
{
    size_t bytes = 0;
    FOVEA_REQUIRE(ld >= d->cols, FOVEA_ERR_STRIDE, why, "rowwise: %s %zu is smaller than cols %zu", name, ld, d->cols);
    FOVEA_REQUIRE(fovea_extent(d->rows, d->cols, ld, &bytes), FOVEA_ERR_OVERFLOW, why,
                  "rowwise: %zu rows with %s %zu do not fit in memory", d->rows, name, ld);
    return FOVEA_OK;
}

static enum fovea_status make_plan(const struct fovea_engine *engine, const struct fovea_rowwise_desc *desc,
                                   struct fovea_rowwise_layout *plan, const struct fovea_why *why)
{
    FOVEA_REQUIRE(engine != NULL && desc != NULL, FOVEA_ERR_NULL, why, "rowwise: engine or desc is NULL");
    FOVEA_REQUIRE(desc->struct_size == sizeof *desc, FOVEA_ERR_STRUCT, why, "rowwise: struct_size is %u, not %zu",
                  (unsigned)desc->struct_size, sizeof *desc);
    FOVEA_REQUIRE(desc->op <= FOVEA_ROWWISE_DROPOUT_ADD, FOVEA_ERR_ENUM, why, "rowwise: op is %u, not within 0 to %d",
                  (unsigned)desc->op, FOVEA_ROWWISE_DROPOUT_ADD);
    FOVEA_TRY(check_matrix("ldx", desc, desc->ldx, why));
    FOVEA_TRY(check_matrix("ldy", desc, desc->ldy, why));
    if (has_x2(desc->op)) {
        FOVEA_TRY(check_matrix("ldx2", desc, desc->ldx2, why));
    }
    FOVEA_REQUIRE(!is_norm(desc->op) || (isfinite(desc->eps) && desc->eps >= 0), FOVEA_ERR_VALUE, why,
                  "rowwise: eps is negative or not finite");
    FOVEA_REQUIRE(!is_dropout(desc->op) || (desc->dropout >= 0 && desc->dropout < 1), FOVEA_ERR_VALUE, why,
                  "rowwise: dropout %g is not within 0 and 1", (double)desc->dropout);
    FOVEA_REQUIRE(count_all(desc) <= UINT32_MAX, FOVEA_ERR_OVERFLOW, why, "rowwise: more tasks than 32 bits count");
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
    *plan = (struct fovea_rowwise_layout){
        .work = {.phases = 1, .kind = FOVEA_PLAN_ROWWISE},
        .kernels = kernels,
        .unary = unary_kernel(kernels, desc->op),
        .norm = norm_kernel(kernels, desc->op),
        .desc = *desc,
    };
    if (is_dropout(desc->op)) {
        plan->dropout.threshold = (uint32_t)((double)desc->dropout * 0x1p32);
        plan->dropout.scale = 1.0f / (1.0f - desc->dropout);
    }
    return FOVEA_OK;
}

size_t fovea_rowwise_plan_size(void)
{
    return fovea_round_up(sizeof(struct fovea_rowwise_layout), FOVEA_ALIGNMENT);
}

enum fovea_status fovea_rowwise_plan(const struct fovea_engine *engine, const struct fovea_rowwise_desc *desc,
                                     void *plan)
{
    FOVEA_CHECK(plan != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(fovea_aligned(plan), FOVEA_ERR_ALIGN);
    struct fovea_rowwise_layout made;
    FOVEA_TRY(make_plan(engine, desc, &made, NULL));
    *(struct fovea_rowwise_layout *)plan = made;
    return FOVEA_OK;
}

enum fovea_status fovea_explain_rowwise(const struct fovea_engine *engine, const struct fovea_rowwise_desc *desc,
                                        char *text, size_t text_size)
{
    const struct fovea_why why = {text, text_size};
    struct fovea_rowwise_layout plan;
    FOVEA_TRY(make_plan(engine, desc, &plan, &why));
    const char *const kernel = plan.unary != NULL     ? plan.unary->name
                               : plan.norm != NULL    ? plan.norm->name
                               : is_dropout(desc->op) ? plan.kernels->dropout.name
                                                      : plan.kernels->add.name;
    const size_t tasks = count_all(desc);
    fovea_say(&why, "rowwise: %zux%zu f32, kernel %s, %zu task%s, no memory", desc->rows, desc->cols, kernel, tasks,
              tasks == 1 ? "" : "s");
    return FOVEA_OK;
}

static enum fovea_status check_args(const struct fovea_rowwise_layout *plan, const struct fovea_rowwise_args *args,
                                    const struct fovea_why *why)
{
    FOVEA_REQUIRE(plan != NULL && args != NULL, FOVEA_ERR_NULL, why, "rowwise: plan or args is NULL");
    FOVEA_REQUIRE(fovea_is_plan(plan, FOVEA_PLAN_ROWWISE), FOVEA_ERR_STRUCT, why,
                  "rowwise: the plan is none of a rowwise operator");
    const struct fovea_rowwise_desc *const d = &plan->desc;
    const size_t rows = args->rows;
    FOVEA_REQUIRE(rows <= d->rows, FOVEA_ERR_SHAPE, why, "rowwise: %zu rows are more than the plan's %zu", rows,
                  d->rows);
    if (rows == 0 || d->cols == 0) {
        return FOVEA_OK;
    }
    const bool add = has_x2(d->op);
    FOVEA_REQUIRE(args->x != NULL && args->y != NULL, FOVEA_ERR_NULL, why, "rowwise: args.x or y is NULL");
    FOVEA_REQUIRE(!add || args->x2 != NULL, FOVEA_ERR_NULL, why, "rowwise: args.x2 is NULL, but the plan adds it");
    // In place with another stride a task would overwrite what its neighbour reads.
    FOVEA_REQUIRE(args->y != args->x || d->ldy == d->ldx || rows == 1, FOVEA_ERR_STRIDE, why,
                  "rowwise: y is x, with ldy %zu and ldx %zu", d->ldy, d->ldx);
    FOVEA_REQUIRE(!add || args->y != args->x2 || d->ldy == d->ldx2 || rows == 1, FOVEA_ERR_STRIDE, why,
                  "rowwise: y is x2, with ldy %zu and ldx2 %zu", d->ldy, d->ldx2);
    return FOVEA_OK;
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
