// SPDX-License-Identifier: Apache-2.0
// bench/pool.h - a fixed pool of threads as an executor: the library itself starts none.
#ifndef FOVEA_BENCH_POOL_H
#define FOVEA_BENCH_POOL_H

#include "fovea/executor.h"

/// Starts `workers` - 1 threads (the caller is the first worker); NULL where the system refuses.
struct bench_pool *bench_pool_start(uint32_t workers);
/// Ends them. NULL is legal.
void bench_pool_stop(struct bench_pool *pool);
/// The pool as an executor.
const struct fovea_executor *bench_pool_executor(const struct bench_pool *pool);

#endif
