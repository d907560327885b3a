// SPDX-License-Identifier: Apache-2.0
// ops/phase.h - a phase of a call: its jobs, and the args that a composite makes for its parts.
//
// What the tasks of a phase share is computed once per phase, on the stack of the thread that runs it. So this is the
// one place in ops/ that knows the args of every operator, also those of nn/; only the executor and the composites
// include it.
#ifndef FOVEA_OPS_PHASE_H
#define FOVEA_OPS_PHASE_H

#include "fovea/gemm.h"
#include "fovea/mha.h"
#include "fovea/rowwise.h"
#include "ops/attention_weights.h"
#include "ops/run.h"

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
    bool brief; ///< that of its jobs
    struct fovea_job job[FOVEA_JOBS_MAX];
    struct fovea_part_args part_args[FOVEA_PART_ARGS_MAX];
};

/// Adds the jobs of an operator in a phase of a call. args must live as long as out.
void fovea_begin(const struct fovea_operator *op, const void *plan, const void *args, void *shared, uint32_t phase,
                 struct fovea_phase *out);

#endif
