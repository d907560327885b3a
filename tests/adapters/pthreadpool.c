// SPDX-License-Identifier: Apache-2.0
// tests/adapters/pthreadpool.c - executors on pools of one to four threads, and on none.
#include "fovea/pthreadpool.h"
#include "tests/adapters/executor.h"

int main(void)
{
    struct fovea_executor executor;
    for (size_t threads = 1; threads <= 4; threads++) {
        const pthreadpool_t pool = pthreadpool_create(threads);
        CHECK(!fovea_pthreadpool_executor(pool, &executor) && executor.workers == threads, "%zu threads", threads);
        executor_check(&executor, "a pool");
        pthreadpool_destroy(pool);
    }
    CHECK(!fovea_pthreadpool_executor(NULL, &executor) && executor.workers == 1, "no pool is one worker");
    executor_check(&executor, "no pool");
    CHECK(fovea_pthreadpool_executor(NULL, NULL) == FOVEA_ERR_NULL, "an executor at NULL");
    return test_done();
}
