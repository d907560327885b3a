// SPDX-License-Identifier: Apache-2.0
// ops/executor.c - the one place that walks the phases of a plan over an executor.
#include "ops/run.h"

// One phase as its tasks see it; lives on the stack of the thread that called fovea_run.
struct phase {
    const struct fovea_operator *op;
    const void *plan, *args;
    void *shared;
    char *scratch;
    size_t scratch_bytes;
    uint32_t index;
};

static void run_task(void *arg, uint32_t task, uint32_t worker)
{
    const struct phase *phase = arg;
    char *const scratch = phase->scratch_bytes == 0 ? NULL : phase->scratch + worker * phase->scratch_bytes;
    phase->op->task(phase->plan, phase->args, phase->shared, scratch, phase->index, task);
}

enum fovea_status fovea_run(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                            void *scratch, const struct fovea_executor *executor)
{
    const struct fovea_work *work = plan;
    FOVEA_TRY(fovea_check_memory(work, shared, scratch));
    if (executor != NULL) {
        FOVEA_CHECK(executor->parallel_for != NULL, FOVEA_ERR_NULL);
        FOVEA_CHECK(executor->workers >= 1, FOVEA_ERR_VALUE);
    }
    const bool serial = executor == NULL || executor->workers == 1;
    if (serial && op->whole != NULL && op->whole(plan, args, shared, scratch)) {
        return FOVEA_OK;
    }
    for (uint32_t index = 0; index < work->phases; index++) {
        struct phase phase = {op, plan, args, shared, scratch, work->scratch_bytes, index};
        const uint32_t count = op->tasks(plan, args, index);
        if (!serial && count > 1) {
            executor->parallel_for(executor->state, count, run_task, &phase);
            continue;
        }
        for (uint32_t task = 0; task < count; task++) { // waking other threads for one task only costs
            run_task(&phase, task, 0);
        }
    }
    return FOVEA_OK;
}

enum fovea_status fovea_run_task(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                                 void *scratch, uint32_t phase, uint32_t task)
{
    const struct fovea_work *work = plan;
    FOVEA_TRY(fovea_check_memory(work, shared, scratch));
    FOVEA_CHECK(phase < work->phases && task < op->tasks(plan, args, phase), FOVEA_ERR_SHAPE);
    op->task(plan, args, shared, scratch, phase, task);
    return FOVEA_OK;
}
