// SPDX-License-Identifier: Apache-2.0
// ops/executor.c - the only place that runs the phases of a plan on an executor.
#include "ops/phase.h"
#include "ops/shares.h"
#include <stdatomic.h>

void fovea_begin(const struct fovea_operator *op, const void *plan, const void *args, void *shared, uint32_t phase,
                 struct fovea_phase *out)
{
    if (op->parts != NULL) {
        op->parts(plan, args, shared, phase, out);
        return;
    }
    struct fovea_job *const job = &out->job[out->jobs++];
    job->op = op;
    job->plan = plan;
    job->args = args;
    job->shared = shared;
    job->phase = phase;
    job->brief = out->brief;
    job->in_order = false;
    job->tasks = op->begin(job);
    out->tasks += job->tasks;
}

// The same for a whole call. Elements beyond the counts are not initialised: a phase is 3 KiB, and a small call takes 1
// us.
static void begin_phase(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                        uint32_t phase, bool brief, struct fovea_phase *out)
{
    out->jobs = out->tasks = out->args = 0;
    out->brief = brief;
    fovea_begin(op, plan, args, shared, phase, out);
}

static void run_task(const struct fovea_phase *phase, void *scratch, uint32_t task)
{
    const struct fovea_job *job = phase->job;
    for (; task >= job->tasks; job++) {
        task -= job->tasks;
    }
    job->op->task(job, scratch, task);
}

// A phase, as passed to an executor's tasks.
struct shared_phase {
    struct fovea_phase *phase;
    char *scratch;
    size_t scratch_bytes;
    uint32_t workers;
    atomic_bool broken; // the executor passed a task or a worker that does not exist, or called more often than asked
    struct fovea_shares shares;
};

static bool is_in_order(const struct fovea_phase *phase)
{
    bool in_order = false;
    for (uint32_t i = 0; i < phase->jobs; i++) {
        in_order |= phase->job[i].in_order;
    }
    return in_order;
}

// The worker says where scratch is: a wrong one would write to memory of others.
static void run_on_worker(void *arg, uint32_t task, uint32_t worker)
{
    struct shared_phase *const all = arg;
    if (task >= all->phase->tasks || worker >= all->workers || !fovea_take_task(&all->shares, worker, &task)) {
        atomic_store_explicit(&all->broken, true, memory_order_relaxed);
        return;
    }
    run_task(all->phase, all->scratch_bytes == 0 ? NULL : all->scratch + worker * all->scratch_bytes, task);
}

// Runs a phase on an executor; VALUE if that did not call as it should.
static enum fovea_status run_on(const struct fovea_executor *executor, struct fovea_phase *phase, void *scratch,
                                size_t scratch_bytes)
{
    struct shared_phase all; // of its shares only those in use are initialised
    all.phase = phase;
    all.scratch = scratch;
    all.scratch_bytes = scratch_bytes;
    all.workers = executor->workers;
    atomic_init(&all.broken, false);
    fovea_share_out(&all.shares, is_in_order(phase) ? 1 : executor->workers, phase->tasks);
    executor->parallel_for(executor->state, phase->tasks, run_on_worker, &all);
    const bool broken = atomic_load_explicit(&all.broken, memory_order_relaxed) || !fovea_all_taken(&all.shares);
    return broken ? FOVEA_ERR_VALUE : FOVEA_OK;
}

enum fovea_status fovea_run(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                            void *scratch, const struct fovea_executor *executor)
{
    const struct fovea_work *const work = plan;
    FOVEA_TRY(fovea_check_memory(work, shared, scratch));
    if (executor != NULL) {
        FOVEA_CHECK(executor->workers >= 1, FOVEA_ERR_VALUE);
        FOVEA_CHECK(executor->parallel_for != NULL, FOVEA_ERR_NULL);
    }
    const bool serial = executor == NULL || executor->workers == 1;
    if (serial && op->whole != NULL && op->whole(plan, args, shared, scratch)) {
        return FOVEA_OK;
    }
    for (uint32_t index = 0; index < work->phases; index++) {
        struct fovea_phase phase;
        begin_phase(op, plan, args, shared, index, false, &phase);
        if (!serial && phase.tasks > 1) {
            FOVEA_TRY(run_on(executor, &phase, scratch, work->scratch_bytes));
            continue;
        }
        for (uint32_t task = 0; task < phase.tasks; task++) { // waking other threads for one task would only cost time
            run_task(&phase, scratch, task);
        }
    }
    return FOVEA_OK;
}

uint32_t fovea_count_tasks(const struct fovea_operator *op, const void *plan, const void *args, uint32_t phase)
{
    if (phase >= ((const struct fovea_work *)plan)->phases) {
        return 0;
    }
    struct fovea_phase made;
    begin_phase(op, plan, args, NULL, phase, true, &made);
    return made.tasks;
}

enum fovea_status fovea_run_task(const struct fovea_operator *op, const void *plan, const void *args, void *shared,
                                 void *scratch, uint32_t phase, uint32_t task)
{
    const struct fovea_work *const work = plan;
    FOVEA_TRY(fovea_check_memory(work, shared, scratch));
    FOVEA_CHECK(phase < work->phases, FOVEA_ERR_SHAPE);
    struct fovea_phase made;
    begin_phase(op, plan, args, shared, phase, true, &made);
    FOVEA_CHECK(task < made.tasks, FOVEA_ERR_SHAPE);
    run_task(&made, scratch, task);
    return FOVEA_OK;
}
