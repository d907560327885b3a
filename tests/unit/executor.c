// SPDX-License-Identifier: Apache-2.0
// tests/unit/executor.c - an executor that passes a worker or a task that does not exist, or calls too often or
// too seldom: an error, and no access outside scratch.
#include "tests/support/engines.h"
#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

#include <math.h>
#include <pthread.h>

enum { WORKERS = 2, HEADS = 6, LEN = 60, DIM = 16, WIDTH = HEADS * DIM, ROWS = 100, COLS = 1000 };

// What is wrong with an executor: it leaves out a task, or runs all, and one more, or one on a wrong worker.
struct wrong {
    const char *name;
    uint32_t task, worker;    ///< of the last call of body; task counts from the number of tasks on
    enum fovea_status status; ///< of the call
    bool first;               ///< the wrong call comes before the others
    bool fewer;               ///< in place of a wrong call the last one is missing
};

static void parallel_for(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                         void *arg)
{
    const struct wrong *const wrong = state;
    const uint32_t task = wrong->task == UINT32_MAX ? 0 : count + wrong->task;
    const bool calls = wrong->status != FOVEA_OK && !wrong->fewer;
    if (calls && wrong->first)
        body(arg, task, wrong->worker);
    for (uint32_t i = 0; i + wrong->fewer < count; i++)
        body(arg, i, i % WORKERS);
    if (calls && !wrong->first)
        body(arg, task, wrong->worker);
}

// Two threads pass a wrong worker. Nothing orders them, so the sanitizer of threads sees whether they may.
struct stranger {
    void (*body)(void *arg, uint32_t task, uint32_t worker);
    void *arg;
};

static void *pass_stranger(void *arg)
{
    const struct stranger *const s = arg;
    s->body(s->arg, 0, WORKERS);
    return NULL;
}

static void parallel_for_strangers(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                                   void *arg)
{
    (void)state, (void)count;
    struct stranger s = {body, arg};
    pthread_t ids[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&ids[i], NULL, pass_stranger, &s) == 0, "no thread");
    for (int i = 0; i < 2; i++)
        pthread_join(ids[i], NULL);
}

static void check(const struct test_operator *op, const struct fovea_engine *engine, const void *desc, const void *args,
                  float *out, size_t floats)
{
    static const struct wrong executors[] = {
        {"right", 0, 0, FOVEA_OK, false, false},
        {"one task more", 0, 0, FOVEA_ERR_VALUE, false, false},
        {"a task again", UINT32_MAX, 0, FOVEA_ERR_VALUE, true, false},
        {"one task fewer", 0, 0, FOVEA_ERR_VALUE, false, true},
        {"a task far beyond", UINT32_MAX / 2, 1, FOVEA_ERR_VALUE, true, false},
        {"workers counted from 1", UINT32_MAX, WORKERS, FOVEA_ERR_VALUE, true, false},
        {"no number of a worker", UINT32_MAX, UINT32_MAX, FOVEA_ERR_VALUE, false, false},
    };
    struct fovea_work *const plan = test_memory(op->plan_size(), TEST_HIGH);
    CHECK(!op->plan(engine, desc, plan), "%s: plan", op->name);
    CHECK(op->tasks(plan, args, 0) > 1, "%s: %u tasks", op->name, op->tasks(plan, args, 0));
    void *const shared = test_memory(plan->shared_bytes, TEST_LOW);
    void *const scratch = test_memory(WORKERS * plan->scratch_bytes, TEST_HIGH);
    float *const expected = test_floats(floats, TEST_HIGH);
    CHECK(!op->run(plan, args, shared, scratch, NULL), "%s: alone", op->name);
    memcpy(expected, out, floats * sizeof *out);
    for (size_t i = 0; i < sizeof executors / sizeof *executors; i++) {
        struct wrong wrong = executors[i];
        const struct fovea_executor executor = {WORKERS, &wrong, parallel_for};
        memset(out, 0xff, floats * sizeof *out);
        const enum fovea_status status = op->run(plan, args, shared, scratch, &executor);
        CHECK(status == wrong.status, "%s, %s: %s", op->name, wrong.name, fovea_status_string(status));
        CHECK(status != FOVEA_OK || memcmp(out, expected, floats * sizeof *out) == 0, "%s, %s: other bits", op->name,
              wrong.name);
    }
    const struct fovea_executor executor = {WORKERS, NULL, parallel_for_strangers};
    memset(out, 0xff, floats * sizeof *out);
    const enum fovea_status status = op->run(plan, args, shared, scratch, &executor);
    CHECK(status == FOVEA_ERR_VALUE && isnan(out[0]), "%s, strangers: %s", op->name, fovea_status_string(status));
}

static float *some(size_t n)
{
    float *const x = test_floats(n, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i * 7 % 31) / 16 - 1;
    return x;
}

int main(void)
{
    struct fovea_engine *const engine = test_engine(NULL, NULL);
    test_set_workers(engine, WORKERS);
    struct fovea_attention_desc d;
    CHECK(!fovea_attention_desc_init(&d, sizeof d), "init");
    d.batch = 1, d.heads = d.kv_heads = HEADS, d.q_len = d.kv_len = LEN, d.qk_dim = d.v_dim = DIM, d.causal = 1;
    d.q = d.k = d.v = d.out = (struct fovea_strides){0, DIM, WIDTH};
    float *out = test_floats(LEN * WIDTH, TEST_HIGH);
    const struct fovea_attention_args attention = {.q = some(LEN * WIDTH),
                                                   .k = some(LEN * WIDTH),
                                                   .v = some(LEN * WIDTH),
                                                   .out = out,
                                                   .batch = 1,
                                                   .q_len = LEN,
                                                   .kv_len = LEN};
    check(&test_attention, engine, &d, &attention, out, LEN * WIDTH);
    struct fovea_rowwise_desc rows = FOVEA_ROWWISE_DESC_INIT;
    rows.rows = ROWS, rows.cols = rows.ldx = rows.ldy = COLS;
    out = test_floats(ROWS * COLS, TEST_HIGH);
    const struct fovea_rowwise_args softmax = {.x = some(ROWS * COLS), .y = out, .rows = ROWS};
    check(&test_rowwise, engine, &rows, &softmax, out, ROWS * COLS);
    test_memory_reset();
    fovea_engine_destroy(engine);
    return test_done();
}
