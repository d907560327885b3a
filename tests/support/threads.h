// SPDX-License-Identifier: Apache-2.0
// tests/support/threads.h - an executor of real threads that deals tasks in a shuffled order.
#ifndef FOVEA_TESTS_SUPPORT_THREADS_H
#define FOVEA_TESTS_SUPPORT_THREADS_H

#include "fovea/executor.h"

struct test_threads {
    uint64_t seed; ///< of the next phase's order
    struct fovea_executor executor;
};

/// Threads are started and joined for each phase: slow, and without any state that could hide a race.
void test_threads_init(struct test_threads *threads, uint32_t workers, uint64_t seed);

#endif
