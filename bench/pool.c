// SPDX-License-Identifier: Apache-2.0
// bench/pool.c - threads that wait for a range of tasks, first spinning, then asleep, and draw tasks from a counter.
#include "bench/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

// A call follows the one before it at once while something is measured: so threads spin for about 1 ms before they
// sleep, as those of the peers do. Where cores are short, the other thread may be waiting for this one's: they yield.
enum { SPINS = 1 << 14, YIELD_EVERY = 256 };

struct bench_pool {
    struct fovea_executor executor;
    void (*body)(void *arg, uint32_t task, uint32_t worker);
    void *arg;
    uint32_t count;
    atomic_uint next;       // the next task
    atomic_uint generation; // counts ranges; changes under the mutex
    atomic_uint busy;       // helpers that have not finished this range
    atomic_bool stop;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    uint32_t helpers;
    struct helper {
        struct bench_pool *pool;
        uint32_t worker;
        pthread_t thread;
    } helper[];
};

static void pause_cpu(int spin)
{
    if (spin % YIELD_EVERY == YIELD_EVERY - 1)
        sched_yield();
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void draw(struct bench_pool *pool, uint32_t worker)
{
    for (uint32_t task; (task = atomic_fetch_add(&pool->next, 1)) < pool->count;)
        pool->body(pool->arg, task, worker);
}

static unsigned await(struct bench_pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        const unsigned now = atomic_load(&pool->generation);
        if (now != seen)
            return now;
        pause_cpu(i);
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->wake, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
    return atomic_load(&pool->generation);
}

static void *help(void *arg)
{
    const struct helper *const self = arg;
    struct bench_pool *const pool = self->pool;
    for (unsigned seen = 0;;) {
        seen = await(pool, seen);
        if (atomic_load(&pool->stop))
            return NULL;
        draw(pool, self->worker);
        atomic_fetch_sub(&pool->busy, 1);
    }
}

static void wake(struct bench_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->generation, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

static void parallel_for(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                         void *arg)
{
    struct bench_pool *const pool = state;
    pool->body = body;
    pool->arg = arg;
    pool->count = count;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->busy, pool->helpers);
    wake(pool);
    draw(pool, 0);
    for (int i = 0; atomic_load(&pool->busy) != 0; i = (i + 1) % YIELD_EVERY)
        pause_cpu(i);
}

struct bench_pool *bench_pool_start(uint32_t workers)
{
    struct bench_pool *const pool = calloc(1, sizeof *pool + workers * sizeof *pool->helper);
    if (!pool)
        return NULL;
    pool->executor = (struct fovea_executor){.workers = workers, .state = pool, .parallel_for = parallel_for};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    for (uint32_t i = 0; i + 1 < workers; i++) {
        struct helper *const helper = &pool->helper[i];
        *helper = (struct helper){.pool = pool, .worker = i + 1};
        if (pthread_create(&helper->thread, NULL, help, helper) != 0) {
            bench_pool_stop(pool);
            return NULL;
        }
        pool->helpers++;
    }
    return pool;
}

void bench_pool_stop(struct bench_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->stop, true);
    wake(pool);
    for (uint32_t i = 0; i < pool->helpers; i++)
        pthread_join(pool->helper[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

const struct fovea_executor *bench_pool_executor(const struct bench_pool *pool)
{
    return &pool->executor;
}
