// SPDX-License-Identifier: Apache-2.0
// ops/rowwise.h - what a row-wise plan holds.
#ifndef FOVEA_OPS_ROWWISE_H
#define FOVEA_OPS_ROWWISE_H

#include "fovea/rowwise.h"
#include "kernels/kernel.h"
#include "ops/run.h"

/// The plan behind fovea_rowwise_plan.
struct fovea_rowwise_layout {
    struct fovea_work work;
    const struct fovea_kernels *kernels;
    const struct fovea_unary_kernel *unary; ///< NULL for ADD, norms and dropout
    const struct fovea_norm_kernel *norm;   ///< NULL for all but norms
    struct fovea_rowwise_desc desc;
    struct fovea_dropout dropout; ///< threshold and scale; 0 and 1 for all but dropout
};

extern const struct fovea_operator fovea_rowwise_operator;

#endif
