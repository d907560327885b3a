// SPDX-License-Identifier: Apache-2.0
// ops/run.h - how every operator runs: phases of tasks over an executor.
//
// What the tasks of a phase share (how the call is cut, and the args that a composite makes for its parts) is computed
// once per phase, on the stack of the thread that runs it.
#ifndef FOVEA_OPS_RUN_H
#define FOVEA_OPS_RUN_H

#include "fovea/executor.h"
#include "fovea/attention_weights.h"
#include "fovea/mha.h"
#include "fovea/rowwise.h"
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

struct fovea_attention_layout;
struct fovea_operator;
struct fovea_phase;

/// The tasks of one operator in a phase of a call.
struct fovea_job {
    const struct fovea_operator *op;
    const void *plan, *args;
    void *shared;
    uint32_t phase, tasks;
    bool brief; ///< the phase is begun anew for each task, so decisions that take long (ops/gemm_balance.c) are skipped
    union {     ///< how the tasks are cut; entries of a ragged batch of attention are cut one by one
        struct fovea_gemm_grid gemm;
        struct fovea_attention_grid attention;
        struct fovea_rowwise_grid rowwise;
        struct fovea_append_grid append;
    };
};

/// A call of fovea_attention_weights: the args of its operator.
struct fovea_attention_pass {
    const struct fovea_attention_layout *plan;
    const struct fovea_attention_weights_args *args;
    const struct fovea_attention_args *call;
    size_t first;       ///< number of the call's first entry; not 0 for an entry of a ragged batch
    size_t begin, keys; ///< the first key, and their number
    size_t first_chunk, chunks;
    size_t heads_each, heads; ///< heads per task; number of tasks side by side
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

/// The args of any part of a composite, with room for what those of attention point to.
struct fovea_part_args {
    union {
        struct fovea_gemm_args gemm;
        struct fovea_rowwise_args rowwise;
        struct fovea_attention_args attention;
        struct fovea_attention_pass pass;
        struct fovea_mha_args mha;
    };
    struct fovea_attention_weights_args weights; ///< args of a pass
    struct fovea_attention_args call;            ///< call of those args
    size_t batch_strides[4];
};

/// The most jobs that run side by side, and the most args: one per job, and one for a composite that is a part of
/// another.
enum { FOVEA_JOBS_MAX = 3, FOVEA_PART_ARGS_MAX = FOVEA_JOBS_MAX + 1 };

/// A phase of a call. Only as many elements are valid as the counts say.
struct fovea_phase {
    uint32_t jobs, tasks, args;
    bool brief;
    struct fovea_job job[FOVEA_JOBS_MAX];
    struct fovea_part_args part_args[FOVEA_PART_ARGS_MAX];
};

/// Adds the jobs of an operator in a phase of a call. args must live as long as out.
void fovea_begin(const struct fovea_operator *op, const void *plan, const void *args, void *shared, uint32_t phase,
                 struct fovea_phase *out);

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
/// Errors: those of fovea_check_memory, NULL (no parallel_for), VALUE (no workers). Allocates nothing.
enum fovea_status fovea_run(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                            void *scratch, const struct fovea_executor *executor);

/// The number of tasks of a phase; 0 if there is no such phase.
uint32_t fovea_count_tasks(const struct fovea_operator *op, const void *plan, const void *args, uint32_t phase);

/// Runs one task with the calling thread's scratch. Errors: those of fovea_check_memory, SHAPE (no such task).
enum fovea_status fovea_run_task(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                                 void *scratch, uint32_t phase, uint32_t task);

#endif
