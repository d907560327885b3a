// SPDX-License-Identifier: Apache-2.0
// tests/adapters/executor.h - what every executor must do: each task once, no two at a time on a worker, a GEMM's bits.
#ifndef FOVEA_TESTS_ADAPTERS_EXECUTOR_H
#define FOVEA_TESTS_ADAPTERS_EXECUTOR_H

#include "fovea/fovea.h"
#include "tests/support/test.h"

#include <stdatomic.h>

enum { EXECUTOR_TASKS = 1000, EXECUTOR_WORKERS = 64 };

struct executor_run {
    const struct fovea_executor *executor;
    atomic_uint wrong; ///< tasks that broke a promise
    atomic_uint busy[EXECUTOR_WORKERS], ran[EXECUTOR_TASKS];
};

static void executor_body(void *arg, uint32_t task, uint32_t worker)
{
    struct executor_run *const run = arg;
    if (worker >= run->executor->workers || task >= EXECUTOR_TASKS) {
        run->wrong++;
        return;
    }
    run->wrong += atomic_exchange(&run->busy[worker], 1);
    run->ran[task]++;
    for (unsigned i = 0; i < 50; i++) // long enough to meet whoever else has this worker
        run->ran[task] += run->busy[worker] != 1;
    atomic_store(&run->busy[worker], 0);
}

/// Runs count tasks (at most EXECUTOR_TASKS) and returns how often a promise was broken: a worker that is none, two
/// tasks at a time on one, a task that ran twice or never. May be called by several threads at once.
static inline unsigned executor_broken(const struct fovea_executor *executor, uint32_t count)
{
    struct executor_run *const run = test_alloc(sizeof *run);
    memset(run, 0, sizeof *run);
    run->executor = executor;
    executor->parallel_for(executor->state, count, executor_body, run);
    unsigned broken = run->wrong;
    for (uint32_t task = 0; task < EXECUTOR_TASKS; task++)
        broken += run->ran[task] != (task < count);
    free(run);
    return broken;
}

enum { EXECUTOR_M = 301, EXECUTOR_N = 517, EXECUTOR_K = 129 };

static void executor_multiply(const struct fovea_engine *engine, const struct fovea_executor *executor, const float *a,
                              const float *b, float *c)
{
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = EXECUTOR_M;
    desc.n = desc.ldb = desc.ldc = EXECUTOR_N;
    desc.k = desc.lda = EXECUTOR_K;
    struct fovea_work *const plan = test_alloc(fovea_gemm_plan_size());
    CHECK(!fovea_gemm_plan(engine, &desc, plan), "no plan");
    const size_t workers = executor ? executor->workers : 1;
    void *const shared = test_alloc(plan->shared_bytes), *const scratch = test_alloc(workers * plan->scratch_bytes);
    const struct fovea_gemm_args args = {.a = a, .b = b, .c = c, .m = EXECUTOR_M};
    const enum fovea_status status = fovea_gemm(plan, &args, shared, scratch, executor);
    CHECK(!status, "%s", fovea_status_string(status));
    free(plan);
    free(shared);
    free(scratch);
}

/// A GEMM of many tasks gives the bits of one thread.
static inline void executor_check_gemm(const struct fovea_executor *executor, const char *name)
{
    const struct fovea_tiling tiling = {.mc = 48, .nc = 64};
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.tiling = &tiling;
    struct fovea_engine *engine;
    CHECK(!fovea_engine_create(&options, &engine), "no engine");
    const size_t a_size = EXECUTOR_M * EXECUTOR_K, b_size = EXECUTOR_K * EXECUTOR_N, c_size = EXECUTOR_M * EXECUTOR_N;
    float *const a = test_alloc((a_size + b_size + 2 * c_size) * sizeof *a);
    float *const b = a + a_size, *const c = b + b_size, *const d = c + c_size;
    uint64_t seed = 1;
    for (size_t i = 0; i < a_size + b_size; i++)
        a[i] = test_float(&seed);
    executor_multiply(engine, NULL, a, b, c);
    executor_multiply(engine, executor, a, b, d);
    CHECK_SAME(c, d, c_size, "%s: %u workers beside one thread", name, executor->workers);
    fovea_engine_destroy(engine);
    free(a);
}

/// All of the above.
static inline void executor_check(const struct fovea_executor *executor, const char *name)
{
    static const uint32_t counts[] = {0, 1, 2, 3, 63, 64, 65, EXECUTOR_TASKS};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const unsigned broken = executor_broken(executor, counts[i]);
        CHECK(broken == 0, "%s: %u workers, %u tasks: %u promises broken", name, executor->workers, counts[i], broken);
    }
    executor_check_gemm(executor, name);
}

#endif
