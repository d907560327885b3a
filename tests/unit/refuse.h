// SPDX-License-Identifier: Apache-2.0
// tests/unit/refuse.h - what every entry must do with bad input: the documented status, one line that says why, and
// nothing written.
#ifndef FOVEA_TESTS_UNIT_REFUSE_H
#define FOVEA_TESTS_UNIT_REFUSE_H

#include "tests/support/memory.h"
#include "tests/support/operator.h"
#include "tests/support/test.h"

/// A good problem: its descriptor, args and outputs; a bad one differs from it in one thing.
struct refuse {
    const struct test_operator *op;
    const struct fovea_engine *engine;
    const void *desc, *args;
    struct fovea_work *plan; ///< of desc
    void *shared, *scratch;  ///< as plan asks
    float *output;           ///< what args would write, poisoned
    size_t output_floats;
};

static inline int refuse_clean(const void *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)memory)[i] != 0xff)
            return 0;
    return 1;
}

/// Plans the good problem, in this thread's memory of tests/support/memory.h.
static inline struct refuse refuse_begin(const struct test_operator *op, const struct fovea_engine *engine,
                                         const void *desc, const void *args, float *output, size_t output_floats)
{
    struct refuse r = {
        .op = op, .engine = engine, .desc = desc, .args = args, .output = output, .output_floats = output_floats};
    r.plan = test_memory(op->plan_size(), TEST_HIGH);
    const enum fovea_status status = op->plan(engine, desc, r.plan);
    CHECK(status == FOVEA_OK, "%s: the good descriptor: %s", op->name, fovea_status_string(status));
    r.shared = test_memory((r.plan->shared_bytes + 63) / 64 * 64 + 64, TEST_HIGH);
    r.scratch = test_memory(r.plan->scratch_bytes + 64, TEST_HIGH);
    CHECK(r.plan->phases >= 1 && r.plan->scratch_bytes % 64 == 0, "%s: work", op->name);
    return r;
}

/// A bad descriptor, or a bad engine or plan beside it.
static inline void refuse_plan_at(const struct refuse *r, const char *what, const struct fovea_engine *engine,
                                  const void *desc, enum fovea_status want)
{
    const size_t size = r->op->plan_size();
    unsigned char *const plan = test_memory(size, TEST_HIGH);
    char text[FOVEA_EXPLAIN_BYTES], small[8];
    memset(text, 'x', sizeof text);
    memset(small, 'x', sizeof small);
    const enum fovea_status status = r->op->plan(engine, desc, plan);
    CHECK(status == want, "%s_plan, %s: %s, expected %s", r->op->name, what, fovea_status_string(status),
          fovea_status_string(want));
    CHECK(refuse_clean(plan, size), "%s_plan, %s: the plan was written", r->op->name, what);
    const enum fovea_status explained = r->op->explain(engine, desc, text, sizeof text);
    CHECK(explained == want, "explain_%s, %s: %s, expected %s", r->op->name, what, fovea_status_string(explained),
          fovea_status_string(want));
    CHECK(memchr(text, '\0', sizeof text) && text[0] && !strchr(text, '\n') && strchr(text, ':'),
          "explain_%s, %s: \"%.80s\" is no line", r->op->name, what, text);
    CHECK(want != FOVEA_ERR_ENUM || strstr(text, "neither 0 nor 1") || strstr(text, "0 or 1") ||
              strstr(text, "not within 0 to "),
          "explain_%s, %s: \"%.80s\" does not say what is legal", r->op->name, what, text);
    CHECK(r->op->explain(engine, desc, NULL, 0) == want && r->op->explain(engine, desc, small, 4) == want &&
              small[3] == '\0' && small[4] == 'x',
          "explain_%s, %s: into little memory", r->op->name, what);
}

/// Bad args, memory or executor. by_task: the task functions must refuse it too.
static inline void refuse_run_at(const struct refuse *r, const char *what, const void *plan, const void *args,
                                 void *shared, void *scratch, const struct fovea_executor *executor,
                                 enum fovea_status want, int by_task)
{
    memset(r->output, 0xff, r->output_floats * sizeof *r->output);
    const enum fovea_status status = r->op->run(plan, args, shared, scratch, executor);
    CHECK(status == want, "%s, %s: %s, expected %s", r->op->name, what, fovea_status_string(status),
          fovea_status_string(want));
    if (by_task) {
        const enum fovea_status task = r->op->task(plan, args, shared, scratch, 0, 0);
        CHECK(task == want, "%s_task, %s: %s, expected %s", r->op->name, what, fovea_status_string(task),
              fovea_status_string(want));
    }
    CHECK(refuse_clean(r->output, r->output_floats * sizeof *r->output), "%s, %s: the output was written", r->op->name,
          what);
}

static inline void refuse_args(const struct refuse *r, const char *what, const void *args, enum fovea_status want)
{
    refuse_run_at(r, what, r->plan, args, r->shared, r->scratch, NULL, want, 1);
    CHECK(r->op->tasks(r->plan, args, 0) == 0, "%s_tasks, %s: there are tasks", r->op->name, what);
    char text[FOVEA_EXPLAIN_BYTES] = "", small[8] = "xxxxxxx";
    CHECK(r->op->explain_call(r->plan, args, text, sizeof text) == want && strchr(text, ':') && !strchr(text, '\n') &&
              r->op->explain_call(r->plan, args, NULL, 0) == want &&
              r->op->explain_call(r->plan, args, small, 4) == want && small[3] == '\0' && small[4] == 'x',
          "explain_%s_call, %s: \"%s\"", r->op->name, what, text);
}

/// That the line which explains bad args, or a bad descriptor, begins like this.
static inline void refuse_told(const struct refuse *r, const void *args, const char *must_say)
{
    char text[FOVEA_EXPLAIN_BYTES] = "";
    CHECK(r->op->explain_call(r->plan, args, text, sizeof text) != FOVEA_OK && strstr(text, must_say) == text,
          "\"%s\", not \"%s\"", text, must_say);
}

static inline void refuse_plan_told(const struct refuse *r, const void *desc, const char *must_say)
{
    char text[FOVEA_EXPLAIN_BYTES] = "";
    CHECK(r->op->explain(r->engine, desc, text, sizeof text) != FOVEA_OK && strstr(text, must_say) == text,
          "\"%s\", not \"%s\"", text, must_say);
}

static inline void refuse_no_tasks(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                                   void *arg)
{
    (void)state, (void)count, (void)body, (void)arg;
}

/// What is the same for every operator: NULL and misaligned pointers, executors, tasks that do not exist.
static inline void refuse_common(const struct refuse *r)
{
    const struct test_operator *const op = r->op;
    struct fovea_executor executor = {0, NULL, refuse_no_tasks};
    char *const shared = r->shared, *const scratch = r->scratch;
    refuse_plan_at(r, "engine NULL", NULL, r->desc, FOVEA_ERR_NULL);
    refuse_plan_at(r, "desc NULL", r->engine, NULL, FOVEA_ERR_NULL);
    char said[FOVEA_EXPLAIN_BYTES] = "", own[40]; // not of a part
    snprintf(own, sizeof own, "%s: engine is NULL", op->name);
    CHECK(op->explain(NULL, r->desc, said, sizeof said) == FOVEA_ERR_NULL && strcmp(said, own) == 0, "\"%s\"", said);
    CHECK(op->plan(r->engine, r->desc, NULL) == FOVEA_ERR_NULL, "%s_plan: plan NULL", op->name);
    unsigned char *const plan = test_memory(op->plan_size() + 64, TEST_HIGH);
    for (size_t off = 4; off < 64; off += 20)
        CHECK(op->plan(r->engine, r->desc, plan + off) == FOVEA_ERR_ALIGN, "%s_plan: plan off by %zu", op->name, off);
    CHECK(refuse_clean(plan, op->plan_size() + 64), "%s_plan: a misaligned plan was written", op->name);

    refuse_run_at(r, "plan NULL", NULL, r->args, shared, scratch, NULL, FOVEA_ERR_NULL, 1);
    refuse_run_at(r, "args NULL", r->plan, NULL, shared, scratch, NULL, FOVEA_ERR_NULL, 1);
    CHECK(op->tasks(NULL, r->args, 0) == 0 && op->tasks(r->plan, NULL, 0) == 0, "%s_tasks of NULL", op->name);
    struct fovea_work *const other = test_memory(op->plan_size(), TEST_HIGH);
    for (uint32_t kind = 0; kind < 8; kind++) { // 0: memory without a plan; else that of another operator, or of none
        memcpy(other, r->plan, op->plan_size());
        other->kind = kind == 0 ? 0 : r->plan->kind - 4 + kind;
        if (other->kind != r->plan->kind) {
            refuse_run_at(r, "another's plan", other, r->args, shared, scratch, NULL, FOVEA_ERR_STRUCT, 1);
            CHECK(op->tasks(other, r->args, 0) == 0, "%s_tasks of another's plan", op->name);
        }
    }
    if (r->plan->shared_bytes) {
        refuse_run_at(r, "shared NULL", r->plan, r->args, NULL, scratch, NULL, FOVEA_ERR_NULL, 1);
        refuse_run_at(r, "shared off by 4", r->plan, r->args, shared + 4, scratch, NULL, FOVEA_ERR_ALIGN, 1);
        refuse_run_at(r, "shared off by 32", r->plan, r->args, shared + 32, scratch, NULL, FOVEA_ERR_ALIGN, 1);
    }
    if (r->plan->scratch_bytes) {
        refuse_run_at(r, "scratch NULL", r->plan, r->args, shared, NULL, NULL, FOVEA_ERR_NULL, 1);
        refuse_run_at(r, "scratch off by 4", r->plan, r->args, shared, scratch + 4, NULL, FOVEA_ERR_ALIGN, 1);
    }
    refuse_run_at(r, "no workers", r->plan, r->args, shared, scratch, &executor, FOVEA_ERR_VALUE, 0);
    executor = (struct fovea_executor){0, NULL, NULL};
    refuse_run_at(r, "nothing of an executor", r->plan, r->args, shared, scratch, &executor, FOVEA_ERR_VALUE, 0);
    executor = (struct fovea_executor){2, NULL, NULL};
    refuse_run_at(r, "no parallel_for", r->plan, r->args, shared, scratch, &executor, FOVEA_ERR_NULL, 0);
    executor = (struct fovea_executor){1, NULL, refuse_no_tasks};
    CHECK(op->run(r->plan, r->args, shared, scratch, &executor) == FOVEA_OK, "%s: one worker", op->name);
    memset(r->output, 0xff, r->output_floats * sizeof *r->output);

    for (uint32_t phase = 0; phase < r->plan->phases; phase++) {
        const uint32_t count = op->tasks(r->plan, r->args, phase);
        CHECK(op->task(r->plan, r->args, shared, scratch, phase, count) == FOVEA_ERR_SHAPE,
              "%s_task: phase %u, task %u", op->name, phase, count);
        CHECK(op->task(r->plan, r->args, shared, scratch, phase, UINT32_MAX) == FOVEA_ERR_SHAPE, "%s_task: phase %u",
              op->name, phase);
    }
    CHECK(op->tasks(r->plan, r->args, r->plan->phases) == 0 && op->tasks(r->plan, r->args, UINT32_MAX) == 0,
          "%s_tasks: phases past the end have tasks", op->name);
    CHECK(op->task(r->plan, r->args, shared, scratch, r->plan->phases, 0) == FOVEA_ERR_SHAPE, "%s_task past the end",
          op->name);
    CHECK(refuse_clean(r->output, r->output_floats * sizeof *r->output), "%s: the output was written", op->name);

    char text[FOVEA_EXPLAIN_BYTES] = "";
    CHECK(op->explain(r->engine, r->desc, text, sizeof text) == FOVEA_OK && text[0] && !strchr(text, '\n'),
          "explain_%s: \"%s\"", op->name, text);
    CHECK(op->explain_call(r->plan, r->args, text, sizeof text) == FOVEA_OK && strchr(text, ':') && !strchr(text, '\n'),
          "explain_%s_call: \"%s\"", op->name, text);
    memset(r->output, 0, r->output_floats * sizeof *r->output);
    CHECK(op->run(r->plan, r->args, shared, scratch, NULL) == FOVEA_OK && r->output[r->output_floats - 1] != 0,
          "%s: the good problem", op->name);
}

/// One thing wrong in a copy of a good descriptor or of good args, named by the expression that does it. The caller has
/// r, good and bad; r, args and wrong.
#define BAD_DESC(change, status)                                                                                       \
    do {                                                                                                               \
        bad = good;                                                                                                    \
        change;                                                                                                        \
        refuse_plan_at(&r, #change, r.engine, &bad, status);                                                           \
    } while (0)
#define BAD_ARGS(change, status)                                                                                       \
    do {                                                                                                               \
        wrong = args;                                                                                                  \
        change;                                                                                                        \
        refuse_args(&r, #change, &wrong, status);                                                                      \
    } while (0)
/// The same, and how the line that explains it begins.
#define BAD_DESC_TOLD(change, status, says)                                                                            \
    do {                                                                                                               \
        BAD_DESC(change, status);                                                                                      \
        refuse_plan_told(&r, &bad, says);                                                                              \
    } while (0)
#define BAD_ARGS_TOLD(change, status, says)                                                                            \
    do {                                                                                                               \
        BAD_ARGS(change, status);                                                                                      \
        refuse_told(&r, &wrong, says);                                                                                 \
    } while (0)

#endif
