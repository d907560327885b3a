// SPDX-License-Identifier: Apache-2.0
// tests/unit/shares.c - every task is taken once: in a row by its worker, by others from the back, by many at once.
#include "ops/shares.h"
#include "tests/support/test.h"

#include <pthread.h>

enum { THREADS = 8, TASKS_MAX = 1000, ROUNDS = 200 };

static void expect(struct fovea_shares *shares, uint32_t worker, const uint32_t *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t task = UINT32_MAX;
        CHECK(fovea_take_task(shares, worker, &task) && task == tasks[i], "worker %u, take %zu: task %u, not %u",
              worker, i, task, tasks[i]);
    }
}

static void check_order(void)
{
    static const uint32_t first[] = {0, 1, 2, 5, 4, 3, 7}, last[] = {6}, all[] = {0, 1, 2, 3, 4};
    struct fovea_shares shares;
    uint32_t task = 0;
    fovea_share_out(&shares, 3, 8); // 0 to 2, 3 to 5, 6 and 7
    expect(&shares, 2, last, 1);
    CHECK(!fovea_all_taken(&shares), "seven tasks are left");
    expect(&shares, 0, first, sizeof first / sizeof *first);
    CHECK(fovea_all_taken(&shares) && !fovea_take_task(&shares, 1, &task), "no task is left");
    fovea_share_out(&shares, 1, 5);
    for (uint32_t i = 0; i < 5; i++)
        expect(&shares, i % 3, all + i, 1);
    CHECK(fovea_all_taken(&shares), "no task is left of those in order");
    fovea_share_out(&shares, UINT32_MAX, UINT32_MAX);
    CHECK(fovea_take_task(&shares, UINT32_MAX - 1, &task) && task < UINT32_MAX, "very many workers and tasks");
    fovea_share_out(&shares, 4, 0);
    CHECK(fovea_all_taken(&shares) && !fovea_take_task(&shares, 0, &task), "no tasks at all");
}

struct many {
    struct fovea_shares shares;
    atomic_uint taken[TASKS_MAX];
};

struct thread {
    struct many *many;
    uint32_t worker;
};

static void *take_all(void *arg)
{
    const struct thread *const self = arg;
    for (uint32_t task; fovea_take_task(&self->many->shares, self->worker, &task);)
        atomic_fetch_add(&self->many->taken[task], 1);
    return NULL;
}

static void check_threads(uint32_t tasks, uint32_t workers)
{
    static struct many many;
    fovea_share_out(&many.shares, workers, tasks);
    struct thread threads[THREADS];
    pthread_t ids[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){&many, i};
        CHECK(pthread_create(&ids[i], NULL, take_all, &threads[i]) == 0, "no thread");
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    for (uint32_t i = 0; i < tasks; i++) {
        const unsigned taken = atomic_exchange(&many.taken[i], 0);
        CHECK(taken == 1, "task %u of %u, %u workers: taken %u times", i, tasks, workers, taken);
    }
    CHECK(fovea_all_taken(&many.shares), "%u tasks, %u workers: some are left", tasks, workers);
}

int main(void)
{
    check_order();
    for (uint32_t round = 0; round < ROUNDS; round++)
        check_threads(round * 7 % TASKS_MAX, 1 + round % (2 * THREADS));
    return test_done();
}
