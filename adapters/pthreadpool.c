// SPDX-License-Identifier: Apache-2.0
// adapters/pthreadpool.c - struct fovea_executor over pthreadpool.
//
// The pool runs one loop for each worker, and the loops draw tasks from a counter. So a worker is an item of the pool's
// range: two loops that run at the same time have different numbers, whichever threads the pool gives them to (it may
// run two items on one thread, one after the other, when a thread is late).
#include "fovea/pthreadpool.h"
#include <stdatomic.h>

struct run {
    void (*body)(void *arg, uint32_t task, uint32_t worker);
    void *arg;
    uint32_t count;
    atomic_size_t next;
};

static void loop(void *state, size_t worker)
{
    struct run *const run = state;
    // Relaxed: tasks do not depend on one another, and the pool orders the end of the range before its return.
    for (size_t task; (task = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed)) < run->count;) {
        run->body(run->arg, (uint32_t)task, (uint32_t)worker);
    }
}

static void parallel_for(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                         void *arg)
{
    const pthreadpool_t pool = state;
    struct run run = {body, arg, count, 0};
    const size_t workers = pthreadpool_get_threads_count(pool);
    pthreadpool_parallelize_1d(pool, loop, &run, workers < count ? workers : count, 0);
}

enum fovea_status fovea_pthreadpool_executor(pthreadpool_t pool, struct fovea_executor *executor)
{
    if (executor == NULL) {
        return FOVEA_ERR_NULL;
    }
    const size_t workers = pthreadpool_get_threads_count(pool);
    if (workers > UINT32_MAX) {
        return FOVEA_ERR_OVERFLOW;
    }
    *executor = (struct fovea_executor){.workers = (uint32_t)workers, .state = pool, .parallel_for = parallel_for};
    return FOVEA_OK;
}
