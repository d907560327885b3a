// SPDX-License-Identifier: Apache-2.0
// ops/run.h - how every operator runs: phases of tasks over an executor.
#ifndef FOVEA_OPS_RUN_H
#define FOVEA_OPS_RUN_H

#include "fovea/executor.h"
#include "ops/check.h"

/// What a plan is of, in its fovea_work.kind: not 0, so that memory that no plan was made in is none.
enum fovea_plan_kind {
    FOVEA_PLAN_GEMM = 0x46560001,
    FOVEA_PLAN_ROWWISE,
    FOVEA_PLAN_ATTENTION,
    FOVEA_PLAN_MHA,
    FOVEA_PLAN_LAYER,
};

/// Whether a plan, not NULL, is of this kind.
static inline bool fovea_is_plan(const void *plan, enum fovea_plan_kind kind)
{
    return ((const struct fovea_work *)plan)->kind == kind;
}

/// An operator once its plan and args are validated: nothing in it can fail any more.
struct fovea_operator {
    /// The number of tasks of a phase < work->phases; 0 is legal.
    uint32_t (*tasks)(const void *plan, const void *args, uint32_t phase);
    /// Runs one of them. scratch is that of the worker it runs on.
    void (*task)(const void *plan, const void *args, void *shared, void *scratch, uint32_t phase, uint32_t task);
    /// NULL, or does everything in this thread, faster than task by task; false where it cannot and has done nothing.
    bool (*whole)(const void *plan, const void *args, void *shared, void *scratch);
};

/// NULL where the plan needs memory that is not there, ALIGN where it is not 64-byte aligned.
static inline enum fovea_status fovea_check_memory(const struct fovea_work *work, const void *shared,
                                                   const void *scratch)
{
    FOVEA_CHECK(work->shared_bytes == 0 || shared != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(work->scratch_bytes == 0 || scratch != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(work->shared_bytes == 0 || fovea_aligned(shared), FOVEA_ERR_ALIGN);
    FOVEA_CHECK(work->scratch_bytes == 0 || fovea_aligned(scratch), FOVEA_ERR_ALIGN);
    return FOVEA_OK;
}

/// Runs all phases of a plan (which begins with its struct fovea_work); executor NULL is this thread as worker 0.
/// Errors: those of fovea_check_memory, NULL (no parallel_for), VALUE (no workers). Allocates nothing.
enum fovea_status fovea_run(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                            void *scratch, const struct fovea_executor *executor);

/// Runs one task with the scratch of the caller's thread. Errors: those of fovea_check_memory, SHAPE (no such task).
enum fovea_status fovea_run_task(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                                 void *scratch, uint32_t phase, uint32_t task);

#endif
