// SPDX-License-Identifier: Apache-2.0
// cblas/pool.c - a few threads for FOVEA_NUM_THREADS above 1, lent to one call at a time.
//
// They start when a call first wants them and sleep between its phases. A second thread of the application that calls
// meanwhile runs alone rather than wait: it has a core of its own.
#include "cblas/front.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

// What a run of parallel_for does; a thread that joins it takes a copy.
struct run {
    void (*body)(void *arg, uint32_t task, uint32_t worker);
    void *arg;
    uint32_t count;
};

// All but `next` is guarded by the mutex. The caller of a run leaves when it has closed it and `running` is 0: no
// thread is inside, and none can join.
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t begun, ended;
    bool taken, open;
    uint32_t threads, running; // started, beside the caller; of them inside the run
    uint64_t number;           // of the run: a thread joins each at most once
    struct run run;
    atomic_uint next; // task to be drawn
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_COND_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static void draw_tasks(const struct run *run, uint32_t worker)
{
    // Relaxed: tasks do not depend on one another, and the mutex orders the ends of the run.
    for (uint32_t task; (task = atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed)) < run->count;) {
        run->body(run->arg, task, worker);
    }
}

static void *serve(void *arg)
{
    const uint32_t worker = (uint32_t)(uintptr_t)arg;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.mutex);
    for (;;) {
        while (!pool.open || pool.number == seen) {
            pthread_cond_wait(&pool.begun, &pool.mutex);
        }
        seen = pool.number;
        pool.running++;
        const struct run run = pool.run;
        pthread_mutex_unlock(&pool.mutex);
        draw_tasks(&run, worker);
        pthread_mutex_lock(&pool.mutex);
        if (--pool.running == 0) {
            pthread_cond_signal(&pool.ended);
        }
    }
    return NULL;
}

static void parallel_for(void *unused, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                         void *arg)
{
    (void)unused;
    const struct run run = {body, arg, count};
    pthread_mutex_lock(&pool.mutex);
    pool.run = run;
    pool.open = true;
    pool.number++;
    atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
    pthread_cond_broadcast(&pool.begun);
    pthread_mutex_unlock(&pool.mutex);
    draw_tasks(&run, 0);
    pthread_mutex_lock(&pool.mutex);
    pool.open = false;
    while (pool.running != 0) {
        pthread_cond_wait(&pool.ended, &pool.mutex);
    }
    pthread_mutex_unlock(&pool.mutex);
}

// Starts what is missing; signals are for the application's threads.
static void start(uint32_t threads)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t id;
    while (pool.threads < threads && pthread_create(&id, NULL, serve, (void *)(uintptr_t)(pool.threads + 1)) == 0) {
        pthread_detach(id);
        pool.threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool fovea_cblas_pool_take(struct fovea_executor *executor)
{
    const uint32_t wanted = fovea_cblas_state()->threads - 1;
    if (wanted == 0) {
        return false;
    }
    pthread_mutex_lock(&pool.mutex);
    bool lent = false;
    if (!pool.taken) {
        start(wanted);
        lent = pool.taken = pool.threads != 0;
        *executor = (struct fovea_executor){.workers = pool.threads + 1, .parallel_for = parallel_for};
    }
    pthread_mutex_unlock(&pool.mutex);
    return lent;
}

void fovea_cblas_pool_give_back(void)
{
    pthread_mutex_lock(&pool.mutex);
    pool.taken = false;
    pthread_mutex_unlock(&pool.mutex);
}

// A child has the forking thread alone: whoever had the pool, and its threads, are gone. The mutex is held across the
// fork, so what it guards is whole.
static void before_fork(void)
{
    pthread_mutex_lock(&pool.mutex);
}

static void parent_after_fork(void)
{
    pthread_mutex_unlock(&pool.mutex);
}

static void child_after_fork(void)
{
    pool.taken = pool.open = false;
    pool.threads = pool.running = 0;
    pthread_cond_init(&pool.begun, NULL);
    pthread_cond_init(&pool.ended, NULL);
    pthread_mutex_unlock(&pool.mutex);
}

void fovea_cblas_pool_init(void)
{
    pthread_atfork(before_fork, parent_after_fork, child_after_fork);
}
