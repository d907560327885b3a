// SPDX-License-Identifier: Apache-2.0
// ops/rowwise_check.c - validates a call of a row-wise plan, and says what is wrong with it.
#include "ops/rowwise.h"
#include <math.h>

static enum fovea_status check_starts(const struct fovea_rowwise_args *args, const struct fovea_why *why)
{
    const uint32_t *const starts = args->starts;
    FOVEA_REQUIRE(starts[0] == 0 && starts[args->sequences] == args->rows, FOVEA_ERR_SHAPE, why,
                  "rowwise: args.starts is from %u to %u, not from 0 to %zu", (unsigned)starts[0],
                  (unsigned)starts[args->sequences], args->rows);
    for (size_t s = 0; s < args->sequences; s++) {
        FOVEA_REQUIRE(starts[s] <= starts[s + 1], FOVEA_ERR_SHAPE, why,
                      "rowwise: args.starts[%zu] is %u, below the %u before it", s + 1, (unsigned)starts[s + 1],
                      (unsigned)starts[s]);
    }
    return FOVEA_OK;
}

// Checks that the position of each row exists.
static enum fovea_status check_positions(const struct fovea_rowwise_desc *d, const struct fovea_rowwise_args *args,
                                         const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("rowwise", why, {"args.cos", args->cos}, {"args.sin", args->sin});
    const struct fovea_pointer others[] = {{"positions", args->positions}, {"starts", args->starts}};
    for (size_t i = 0; args->row_positions != NULL && i < FOVEA_COUNT(others); i++) {
        FOVEA_REQUIRE(others[i].pointer == NULL, FOVEA_ERR_VALUE, why,
                      "rowwise: args.%s is given, beside args.row_positions", others[i].name);
    }
    FOVEA_REQUIRE(args->position == 0 || (args->positions == NULL && args->row_positions == NULL), FOVEA_ERR_VALUE, why,
                  "rowwise: args.position is %zu, beside args.%s", args->position,
                  args->positions != NULL ? "positions" : "row_positions");
    for (size_t r = 0; args->row_positions != NULL && r < args->rows; r++) {
        FOVEA_REQUIRE(args->row_positions[r] < d->rotary_positions, FOVEA_ERR_SHAPE, why,
                      "rowwise: args.row_positions[%zu] is %u of %zu", r, (unsigned)args->row_positions[r],
                      d->rotary_positions);
    }
    if (args->row_positions != NULL) {
        return FOVEA_OK;
    }
    FOVEA_REQUIRE(args->len >= 1 || args->starts != NULL, FOVEA_ERR_SHAPE, why, "rowwise: args.len is 0");
    FOVEA_TRY(args->starts != NULL ? check_starts(args, why) : FOVEA_OK);
    const bool alike = args->starts == NULL && args->positions == NULL; // the first one is as long as any
    for (size_t r = 0; r < (alike ? 1 : args->rows);) {
        const struct fovea_rowwise_sequence s = fovea_rowwise_sequence(args, r);
        const size_t len = s.end - s.begin;
        FOVEA_REQUIRE(len <= d->rotary_positions && s.position <= d->rotary_positions - len, FOVEA_ERR_SHAPE, why,
                      "rowwise: %zu rows from position %zu on, of %zu", len, s.position, d->rotary_positions);
        r = s.end;
    }
    return FOVEA_OK;
}

// What an operator does not read would silently be ignored: an x2 for a norm, gamma for an activation.
static enum fovea_status check_given(const struct fovea_rowwise_desc *d, const struct fovea_rowwise_args *args,
                                     const struct fovea_why *why)
{
    static const char *const names[] = {[FOVEA_ROWWISE_SOFTMAX] = "SOFTMAX",
                                        [FOVEA_ROWWISE_LOG_SOFTMAX] = "LOG_SOFTMAX",
                                        [FOVEA_ROWWISE_LAYERNORM] = "LAYERNORM",
                                        [FOVEA_ROWWISE_ADD] = "ADD",
                                        [FOVEA_ROWWISE_RELU] = "RELU",
                                        [FOVEA_ROWWISE_GELU] = "GELU",
                                        [FOVEA_ROWWISE_GELU_TANH] = "GELU_TANH",
                                        [FOVEA_ROWWISE_TANH] = "TANH",
                                        [FOVEA_ROWWISE_EXP2] = "EXP2",
                                        [FOVEA_ROWWISE_SIN] = "SIN",
                                        [FOVEA_ROWWISE_COS] = "COS",
                                        [FOVEA_ROWWISE_SILU] = "SILU",
                                        [FOVEA_ROWWISE_RMSNORM] = "RMSNORM",
                                        [FOVEA_ROWWISE_DROPOUT] = "DROPOUT",
                                        [FOVEA_ROWWISE_DROPOUT_ADD] = "DROPOUT_ADD",
                                        [FOVEA_ROWWISE_ROTARY] = "ROTARY"};
    const bool norm = fovea_rowwise_is_norm(d->op), rotary = d->op == FOVEA_ROWWISE_ROTARY;
    const struct {
        const char *name;
        const void *pointer;
        bool read;
    } given[] = {
        {"x2", args->x2, fovea_rowwise_has_x2(d->op)},
        {"gamma", args->gamma, norm},
        {"beta", args->beta, norm},
        {"cos", args->cos, rotary},
        {"sin", args->sin, rotary},
        {"row_positions", args->row_positions, rotary},
        {"positions", args->positions, rotary},
        {"starts", args->starts, rotary},
    };
    for (size_t i = 0; i < FOVEA_COUNT(given); i++) {
        FOVEA_REQUIRE(given[i].pointer == NULL || given[i].read, FOVEA_ERR_VALUE, why,
                      "rowwise: args.%s is given, but %s does not read it", given[i].name, names[d->op]);
    }
    return FOVEA_OK;
}

enum fovea_status fovea_rowwise_check_call(const struct fovea_rowwise_layout *plan,
                                           const struct fovea_rowwise_args *args, const struct fovea_why *why)
{
    FOVEA_REQUIRE_POINTERS("rowwise", why, {"plan", plan}, {"args", args});
    FOVEA_REQUIRE(fovea_is_plan(plan, FOVEA_PLAN_ROWWISE), FOVEA_ERR_STRUCT, why,
                  "rowwise: the plan is not a rowwise plan");
    const struct fovea_rowwise_desc *const d = &plan->desc;
    const size_t rows = args->rows;
    FOVEA_REQUIRE_LIMITS("rowwise", why, {"args.rows", rows, d->rows});
    FOVEA_REQUIRE(args->eval <= 1, FOVEA_ERR_ENUM, why, "rowwise: args.eval is %u, neither 0 nor 1",
                  (unsigned)args->eval);
    if (rows == 0 || d->cols == 0) {
        return FOVEA_OK;
    }
    const bool add = fovea_rowwise_has_x2(d->op);
    FOVEA_REQUIRE_POINTERS("rowwise", why, {"args.x", args->x}, {"args.y", args->y});
    FOVEA_TRY(check_given(d, args, why));
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
    FOVEA_TRY(fovea_rowwise_check_call(plan, args, &why));
    const struct fovea_rowwise_desc *const d = &((const struct fovea_rowwise_layout *)plan)->desc;
    const bool rotary = d->op == FOVEA_ROWWISE_ROTARY, each = args->positions != NULL || args->row_positions != NULL;
    const struct fovea_asked asked[] = {
        {args->gamma != NULL, "gamma", NAN},
        {args->beta != NULL, "beta", NAN},
        {rotary && !each, "position", (double)args->position},
        {args->positions != NULL, "positions", NAN},
        {args->row_positions != NULL, "row_positions", NAN},
        {args->starts != NULL, "sequences", (double)args->sequences},
        {fovea_rowwise_is_dropout(d->op) && args->eval != 0, "no dropout", NAN},
    };
    const struct fovea_size sizes[] = {{"args.rows", args->rows}};
    fovea_say(&why, "rowwise: %zux%zu", args->rows, d->cols);
    fovea_say_asked(&why, asked, FOVEA_COUNT(asked));
    fovea_say_nothing(&why, sizes, FOVEA_COUNT(sizes));
    fovea_say_unchecked(&why, plan);
    return FOVEA_OK;
}
