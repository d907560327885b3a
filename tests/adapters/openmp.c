// SPDX-License-Identifier: Apache-2.0
// tests/adapters/openmp.c - executors on teams of one to many threads: smaller than asked for, nested, several at once.
#include "fovea/openmp.h"
#include "tests/adapters/executor.h"

#include <omp.h>

enum { OUTER = 3, ROUNDS = 20 };

// The caller's own parallelism around the executor: a region whose threads all call, a loop, and tasks.
static void check_nested(const struct fovea_executor *executor, int levels)
{
    omp_set_max_active_levels(levels); // 1: the inner teams are of one thread
    unsigned broken = 0;
#pragma omp parallel num_threads(OUTER) reduction(+ : broken)
    {
        broken += executor_broken(executor, EXECUTOR_TASKS);
#pragma omp for schedule(static, 1)
        for (int i = 0; i < ROUNDS; i++) {
            broken += executor_broken(executor, 5);
        }
    }
    CHECK(broken == 0, "%d levels, %u workers: %u promises broken", levels, executor->workers, broken);

    unsigned by_task[ROUNDS];
#pragma omp parallel num_threads(OUTER)
#pragma omp single
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp task
        by_task[i] = executor_broken(executor, 100);
    }
    for (int i = 0; i < ROUNDS; i++)
        CHECK(by_task[i] == 0, "%d levels, task %d: %u promises broken", levels, i, by_task[i]);
    omp_set_max_active_levels(1);
}

// A task that runs an executor itself.
static void body(void *arg, uint32_t task, uint32_t worker)
{
    atomic_uint *const broken = arg;
    struct fovea_executor inner;
    (void)worker;
    *broken += fovea_openmp_executor(2, &inner) != FOVEA_OK;
    *broken += executor_broken(&inner, task);
}

int main(void)
{
    struct fovea_executor executor;
    static const int sizes[] = {1, 2, 3, 4, EXECUTOR_WORKERS};
    for (int dynamic = 0; dynamic <= 1; dynamic++) { // 1: OpenMP may give fewer threads, and does on a small machine
        omp_set_dynamic(dynamic);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            CHECK(!fovea_openmp_executor(sizes[i], &executor) && executor.workers == (uint32_t)sizes[i], "%d threads",
                  sizes[i]);
            executor_check(&executor, dynamic ? "a dynamic team" : "a team");
        }
    }
    omp_set_dynamic(0);
    CHECK(!fovea_openmp_executor(4, &executor), "four threads");
    for (int levels = 1; levels <= 2; levels++) {
        check_nested(&executor, levels);
        atomic_uint broken = 0;
        omp_set_max_active_levels(levels);
        executor.parallel_for(executor.state, 50, body, &broken);
        CHECK(broken == 0, "tasks that run executors, %d levels: %u promises broken", levels, broken);
    }

    executor.workers = 77;
    CHECK(fovea_openmp_executor(1, NULL) == FOVEA_ERR_NULL, "an executor at NULL");
    CHECK(fovea_openmp_executor(0, &executor) == FOVEA_ERR_VALUE, "no threads");
    CHECK(fovea_openmp_executor(-2, &executor) == FOVEA_ERR_VALUE && executor.workers == 77, "fewer than no threads");
    return test_done();
}
