// SPDX-License-Identifier: Apache-2.0
// tests/support/threads.c - an executor of real threads that deals numbers of tasks in a shuffled order. Which task
// a worker runs is up to ops/shares.h; TEST_TASKS of operator.h runs the tasks themselves in a shuffled order.
#include "tests/support/threads.h"

#include "tests/support/test.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WORKERS_MAX = 16 };

struct phase {
    const uint32_t *order;
    uint32_t count;
    atomic_uint next;
    void (*body)(void *arg, uint32_t task, uint32_t worker);
    void *arg;
};

struct worker {
    struct phase *phase;
    uint32_t index;
};

static void *work(void *arg)
{
    const struct worker *const worker = arg;
    struct phase *const phase = worker->phase;
    for (uint32_t i; (i = atomic_fetch_add(&phase->next, 1)) < phase->count;)
        phase->body(phase->arg, phase->order[i], worker->index);
    return NULL;
}

static void parallel_for(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                         void *arg)
{
    struct test_threads *const threads = state;
    uint32_t *const order = test_alloc(count * sizeof *order);
    test_shuffle(order, count, &threads->seed);
    struct phase phase = {order, count, 0, body, arg};
    struct worker workers[WORKERS_MAX];
    pthread_t ids[WORKERS_MAX];
    uint32_t started = 0;
    for (uint32_t i = 1; i < threads->executor.workers; i++) {
        workers[i] = (struct worker){&phase, i};
        started += pthread_create(&ids[started], NULL, work, &workers[i]) == 0;
    }
    workers[0] = (struct worker){&phase, 0};
    work(&workers[0]);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
    free(order);
}

void test_threads_init(struct test_threads *threads, uint32_t workers, uint64_t seed)
{
    threads->seed = seed;
    threads->executor =
        (struct fovea_executor){workers < WORKERS_MAX ? workers : WORKERS_MAX, threads, parallel_for};
}
