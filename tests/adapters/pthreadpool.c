// SPDX-License-Identifier: Apache-2.0
// tests/adapters/pthreadpool.c - a GEMM on a pthreadpool gives the bits of one thread, and workers never meet.
#include "fovea/fovea.h"
#include "fovea/pthreadpool.h"
#include "tests/support/test.h"

#include <stdatomic.h>

enum { M = 301, N = 517, K = 129, TASKS = 1000, THREADS = 4 };

static atomic_int busy[THREADS], met, done;

static void body(void *arg, uint32_t task, uint32_t worker)
{
    (void)arg;
    (void)task;
    if (worker >= THREADS || atomic_exchange(&busy[worker], 1))
        met++;
    done++;
    if (worker < THREADS)
        atomic_store(&busy[worker], 0);
}

static void gemm(const struct fovea_engine *engine, const struct fovea_executor *executor, const float *a,
                 const float *b, float *c)
{
    struct fovea_gemm_desc desc = FOVEA_GEMM_DESC_INIT;
    desc.m = M;
    desc.n = desc.ldb = desc.ldc = N;
    desc.k = desc.lda = K;
    struct fovea_work *const plan = test_alloc(fovea_gemm_plan_size());
    CHECK(!fovea_gemm_plan(engine, &desc, plan), "no plan");
    void *const shared = test_alloc(plan->shared_bytes), *const scratch = test_alloc(THREADS * plan->scratch_bytes);
    const struct fovea_gemm_args args = {.a = a, .b = b, .c = c, .m = M};
    const enum fovea_status status = fovea_gemm(plan, &args, shared, scratch, executor);
    CHECK(!status, "%s", fovea_status_string(status));
    free(plan);
    free(shared);
    free(scratch);
}

int main(void)
{
    struct fovea_engine *engine;
    struct fovea_executor executor;
    const struct fovea_tiling tiling = {.mc = 48, .nc = 64};
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.tiling = &tiling; // many tasks
    CHECK(!fovea_engine_create(&options, &engine), "no engine");
    const pthreadpool_t pool = pthreadpool_create(THREADS);
    CHECK(!fovea_pthreadpool_executor(pool, &executor), "no executor");
    CHECK(fovea_pthreadpool_executor(pool, NULL) == FOVEA_ERR_NULL, "an executor at NULL");
    executor.parallel_for(executor.state, TASKS, body, NULL);
    CHECK(done == TASKS && met == 0, "%d of %d tasks ran, %d met on a worker", done, TASKS, met);

    float *const a = test_alloc(M * K * sizeof *a), *const b = test_alloc(K * N * sizeof *b);
    float *const c = test_alloc(M * N * sizeof *c), *const d = test_alloc(M * N * sizeof *d);
    uint64_t seed = 1;
    for (size_t i = 0; i < M * K; i++)
        a[i] = test_float(&seed);
    for (size_t i = 0; i < K * N; i++)
        b[i] = test_float(&seed);
    gemm(engine, NULL, a, b, c);
    gemm(engine, &executor, a, b, d);
    CHECK(test_differ(c, d, M * N) == M * N, "four threads give other bits than one");

    pthreadpool_destroy(pool);
    fovea_engine_destroy(engine);
    free(a);
    free(b);
    free(c);
    free(d);
    return test_done();
}
