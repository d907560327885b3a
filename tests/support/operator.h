// SPDX-License-Identifier: Apache-2.0
// tests/support/operator.h - every operator through its public functions, and every way to run one.
#ifndef FOVEA_TESTS_SUPPORT_OPERATOR_H
#define FOVEA_TESTS_SUPPORT_OPERATOR_H

#include "fovea/fovea.h"

#include <stdbool.h>

/// The public functions of one operator, descriptor and args untyped.
struct test_operator {
    const char *name;
    size_t (*plan_size)(void);
    enum fovea_status (*plan)(const struct fovea_engine *engine, const void *desc, void *plan);
    enum fovea_status (*explain)(const struct fovea_engine *engine, const void *desc, char *text, size_t size);
    enum fovea_status (*run)(const void *plan, const void *args, void *shared, void *scratch,
                             const struct fovea_executor *executor);
    uint32_t (*tasks)(const void *plan, const void *args, uint32_t phase);
    enum fovea_status (*task)(const void *plan, const void *args, void *shared, void *scratch, uint32_t phase,
                              uint32_t task);
    enum fovea_status (*explain_call)(const void *plan, const void *args, char *text, size_t size);
};
extern const struct test_operator test_gemm, test_rowwise, test_attention, test_mha, test_layer;

enum test_way {
    TEST_SERIAL,  ///< in this thread
    TEST_THREADS, ///< on threads, tasks in a shuffled order
    TEST_TASKS,   ///< one by one in a shuffled order, each with a fresh scratch, from a copy of the plan
    TEST_WAYS
};
extern const char *const test_way_names[TEST_WAYS];

/// A plan, and exactly the memory that it asks for, poisoned with NaNs.
struct test_session {
    struct fovea_work *plan;
    void *shared, *scratch;
};
/// For calls on so many workers. Exits where the descriptor is refused. Memory is that of tests/support/memory.h.
struct test_session test_plan(const struct test_operator *op, const struct fovea_engine *engine, const void *desc,
                              size_t workers);

/// Whether the line that explains a call is this one, and then says what work memory the plan needs.
bool test_explains(const struct test_operator *op, const void *plan, const void *args, const char *line);

/// Plans and runs once, in exactly the memory that the plan asks for, poisoned with NaNs. Frees nothing: memory is that
/// of tests/support/memory.h.
enum fovea_status test_run(const struct test_operator *op, const struct fovea_engine *engine, const void *desc,
                           const void *args, enum test_way way, uint64_t seed);

#endif
