// SPDX-License-Identifier: Apache-2.0
// tests/support/operator.c - every operator through its public functions, and every way to run one.
#include "tests/support/operator.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

#include <stdio.h>
#include <string.h>

// The typed functions of one operator behind untyped ones.
#define OPERATOR(op)                                                                                                   \
    static enum fovea_status op##_plan(const struct fovea_engine *engine, const void *desc, void *plan)                \
    {                                                                                                                  \
        return fovea_##op##_plan(engine, desc, plan);                                                                  \
    }                                                                                                                  \
    static enum fovea_status op##_explain(const struct fovea_engine *engine, const void *desc, char *text,             \
                                          size_t size)                                                                 \
    {                                                                                                                  \
        return fovea_explain_##op(engine, desc, text, size);                                                           \
    }                                                                                                                  \
    static enum fovea_status op##_run(const void *plan, const void *args, void *shared, void *scratch,                 \
                                      const struct fovea_executor *executor)                                           \
    {                                                                                                                  \
        return fovea_##op(plan, args, shared, scratch, executor);                                                      \
    }                                                                                                                  \
    static uint32_t op##_tasks(const void *plan, const void *args, uint32_t phase)                                     \
    {                                                                                                                  \
        return fovea_##op##_tasks(plan, args, phase);                                                                  \
    }                                                                                                                  \
    static enum fovea_status op##_task(const void *plan, const void *args, void *shared, void *scratch,                \
                                       uint32_t phase, uint32_t task)                                                  \
    {                                                                                                                  \
        return fovea_##op##_task(plan, args, shared, scratch, phase, task);                                            \
    }                                                                                                                  \
    static enum fovea_status op##_explain_call(const void *plan, const void *args, char *text, size_t size)            \
    {                                                                                                                  \
        return fovea_explain_##op##_call(plan, args, text, size);                                                      \
    }                                                                                                                  \
    const struct test_operator test_##op = {                                                                           \
        #op, fovea_##op##_plan_size, op##_plan, op##_explain, op##_run, op##_tasks, op##_task, op##_explain_call};
OPERATOR(gemm)
OPERATOR(attention)
OPERATOR(rowwise)
OPERATOR(mha)
OPERATOR(layer)

const char *const test_way_names[TEST_WAYS] = {"serial", "shuffled threads", "task by task"};

enum { WORKERS = 3 };

static enum fovea_status run_tasks(const struct test_operator *op, const void *plan, const void *args, void *shared,
                                   void *scratch, uint64_t seed)
{
    const struct fovea_work *const work = plan;
    enum fovea_status status = FOVEA_OK;
    for (uint32_t phase = 0; phase < work->phases && status == FOVEA_OK; phase++) {
        const uint32_t count = op->tasks(plan, args, phase);
        uint32_t *const order = test_alloc(count * sizeof *order);
        test_shuffle(order, count, &seed);
        for (uint32_t i = 0; i < count && status == FOVEA_OK; i++) {
            memset(scratch, 0xff, work->scratch_bytes);
            status = op->task(plan, args, shared, scratch, phase, order[i]);
        }
        free(order);
    }
    return status;
}

static enum fovea_status begin(const struct test_operator *op, const struct fovea_engine *engine, const void *desc,
                               size_t workers, struct test_session *s)
{
    s->plan = test_memory(op->plan_size(), TEST_HIGH);
    const enum fovea_status status = op->plan(engine, desc, s->plan);
    if (status == FOVEA_OK) {
        CHECK(s->plan->shared_bytes % 64 == 0 && s->plan->scratch_bytes % 64 == 0, "%s: shared %zu, scratch %zu",
              op->name, s->plan->shared_bytes, s->plan->scratch_bytes);
        s->shared = test_memory(s->plan->shared_bytes, TEST_HIGH);
        s->scratch = test_memory(workers * s->plan->scratch_bytes, TEST_HIGH);
    }
    return status;
}

struct test_session test_plan(const struct test_operator *op, const struct fovea_engine *engine, const void *desc,
                              size_t workers)
{
    struct test_session s;
    const enum fovea_status status = begin(op, engine, desc, workers, &s);
    if (status != FOVEA_OK) {
        fprintf(stderr, "FAIL a plan of %s: %s\n", op->name, fovea_status_string(status));
        exit(1);
    }
    return s;
}

bool test_explains(const struct test_operator *op, const void *plan, const void *args, const char *line)
{
    const struct fovea_work *const work = plan;
    char text[FOVEA_EXPLAIN_BYTES] = "", want[FOVEA_EXPLAIN_BYTES];
    snprintf(want, sizeof want,
             "%s; not checked: overlaps, shared of %zu bytes and scratch of %zu a worker, both aligned, the executor",
             line, work->shared_bytes, work->scratch_bytes);
    const bool same = !op->explain_call(plan, args, text, sizeof text) && strcmp(text, want) == 0;
    if (!same)
        printf("\"%s\", not \"%s\"\n", text, want);
    return same;
}

enum fovea_status test_run(const struct test_operator *op, const struct fovea_engine *engine, const void *desc,
                           const void *args, enum test_way way, uint64_t seed)
{
    struct test_session s;
    const enum fovea_status status = begin(op, engine, desc, way == TEST_THREADS ? WORKERS : 1, &s);
    if (status != FOVEA_OK)
        return status;
    if (way == TEST_TASKS) {
        const size_t size = op->plan_size();
        void *const copy = test_memory(size, TEST_HIGH);
        memcpy(copy, s.plan, size);
        memset(s.plan, 0xff, size);
        return run_tasks(op, copy, args, s.shared, s.scratch, seed);
    }
    struct test_threads threads;
    test_threads_init(&threads, WORKERS, seed);
    return op->run(s.plan, args, s.shared, s.scratch, way == TEST_THREADS ? &threads.executor : NULL);
}
