// SPDX-License-Identifier: Apache-2.0
// ops/rowwise.h - the row-wise plan, and predicates on operators.
#ifndef FOVEA_OPS_ROWWISE_H
#define FOVEA_OPS_ROWWISE_H

#include "fovea/rowwise.h"
#include "kernels/table.h"
#include "ops/run.h"

/// The plan behind fovea_rowwise_plan.
struct fovea_rowwise_layout {
    struct fovea_work work;
    const struct fovea_kernels *kernels;
    const struct fovea_unary_kernel *unary; ///< NULL for ADD, norms, dropout and ROTARY
    const struct fovea_norm_kernel *norm;   ///< NULL for all but norms
    struct fovea_rowwise_desc desc;
    struct fovea_dropout dropout; ///< threshold and scale; 0 and 1 for all but dropout
};

static inline bool fovea_rowwise_is_norm(enum fovea_rowwise_op op)
{
    return op == FOVEA_ROWWISE_LAYERNORM || op == FOVEA_ROWWISE_RMSNORM;
}

static inline bool fovea_rowwise_is_dropout(enum fovea_rowwise_op op)
{
    return op == FOVEA_ROWWISE_DROPOUT || op == FOVEA_ROWWISE_DROPOUT_ADD;
}

static inline bool fovea_rowwise_has_x2(enum fovea_rowwise_op op)
{
    return op == FOVEA_ROWWISE_ADD || op == FOVEA_ROWWISE_DROPOUT_ADD;
}

/// A sequence of ROTARY: its rows, [begin, end), and the position of the first one.
struct fovea_rowwise_sequence {
    size_t begin, end, position;
};
/// The sequence of a row, by the starts or the len of a call.
struct fovea_rowwise_sequence fovea_rowwise_sequence(const struct fovea_rowwise_args *args, size_t row);

/// Number of tasks for all of a plan's rows.
size_t fovea_rowwise_count(const struct fovea_rowwise_desc *desc);

/// fovea_rowwise_plan on any struct; `why` says what is wrong.
enum fovea_status fovea_rowwise_make(const struct fovea_engine *engine, const struct fovea_rowwise_desc *desc,
                                     struct fovea_rowwise_layout *plan, const struct fovea_why *why);
/// Checks a call (rowwise_check.c); `why` says what is wrong.
enum fovea_status fovea_rowwise_check_call(const struct fovea_rowwise_layout *plan,
                                           const struct fovea_rowwise_args *args, const struct fovea_why *why);
extern const struct fovea_operator fovea_rowwise_operator;

#endif
