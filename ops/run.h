// SPDX-License-Identifier: Apache-2.0
// ops/run.h - how every operator runs: phases of tasks over an executor.
#ifndef FOVEA_OPS_RUN_H
#define FOVEA_OPS_RUN_H

#include "fovea/executor.h"
#include "ops/cut.h"
#include "ops/fields.h"

/// The operator of a plan, in its fovea_work.kind: not 0, so that uninitialised zero memory is not taken for a plan.
enum fovea_plan_kind {
    FOVEA_PLAN_GEMM = 0x46560001,
    FOVEA_PLAN_ROWWISE,
    FOVEA_PLAN_ATTENTION,
    FOVEA_PLAN_MHA,
    FOVEA_PLAN_LAYER,
};

/// Whether a plan, which is not NULL, is of this kind.
static inline bool fovea_is_plan(const void *plan, enum fovea_plan_kind kind)
{
    return ((const struct fovea_work *)plan)->kind == kind;
}

struct fovea_operator;
struct fovea_phase; // ops/phase.h

/// The tasks of one operator in a phase of a call.
struct fovea_job {
    const struct fovea_operator *op;
    const void *plan, *args;
    void *shared;
    uint32_t phase, tasks;
    bool in_order; ///< tasks shrink towards the last one, so all workers take them in this order
    bool brief; ///< the phase is begun anew for each task, so decisions that take long (ops/gemm_balance.c) are skipped
    union {     ///< how the tasks are cut; entries of a ragged batch of attention are cut one by one
        struct fovea_gemm_grid gemm;
        struct fovea_attention_grid attention;
        struct fovea_rowwise_grid rowwise;
        struct fovea_append_grid append;
    };
};

/// An operator, called once its plan and args are validated: nothing in it can fail.
struct fovea_operator {
    /// Begins the phase job->phase < work->phases: sets how it is cut, and returns the number of tasks, which may be 0.
    /// NULL for a composite.
    uint32_t (*begin)(struct fovea_job *job);
    /// Runs one task. scratch is that of the worker it runs on.
    void (*task)(const struct fovea_job *job, void *scratch, uint32_t task);
    /// NULL, or runs everything in the calling thread, faster than task by task; returns false if it cannot and has
    /// done nothing.
    bool (*whole)(const void *plan, const void *args, void *shared, void *scratch);
    /// Composites only: begins what the parts do in a phase, with fovea_begin.
    void (*parts)(const void *plan, const void *args, void *shared, uint32_t phase, struct fovea_phase *out);
};

/// Returns NULL if the plan needs memory that is missing, ALIGN if it is not 64-byte aligned.
static inline enum fovea_status fovea_check_memory(const struct fovea_work *work, const void *shared,
                                                   const void *scratch)
{
    FOVEA_CHECK(work->shared_bytes == 0 || shared != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(work->scratch_bytes == 0 || scratch != NULL, FOVEA_ERR_NULL);
    FOVEA_CHECK(work->shared_bytes == 0 || fovea_aligned(shared), FOVEA_ERR_ALIGN);
    FOVEA_CHECK(work->scratch_bytes == 0 || fovea_aligned(scratch), FOVEA_ERR_ALIGN);
    return FOVEA_OK;
}

/// Runs all phases of a plan (which begins with its struct fovea_work). executor NULL: in the calling thread, as worker
/// 0.
/// Errors: those of fovea_check_memory, NULL (no parallel_for), VALUE (no workers, a task or worker that is not there,
/// too many or too few calls). Allocates nothing.
enum fovea_status fovea_run(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                            void *scratch, const struct fovea_executor *executor);

/// The number of tasks of a phase; 0 if there is no such phase.
uint32_t fovea_count_tasks(const struct fovea_operator *op, const void *plan, const void *args, uint32_t phase);

/// Runs one task with the calling thread's scratch. Errors: those of fovea_check_memory, SHAPE (no such task).
enum fovea_status fovea_run_task(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                                 void *scratch, uint32_t phase, uint32_t task);

#endif
