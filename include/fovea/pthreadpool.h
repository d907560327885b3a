// SPDX-License-Identifier: Apache-2.0
// fovea/pthreadpool.h - an executor on the threads of a pthreadpool (library fovea_pthreadpool).
#ifndef FOVEA_PTHREADPOOL_H
#define FOVEA_PTHREADPOOL_H

#include "fovea/executor.h"
#include <pthreadpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Fills executor: as many workers as the pool has threads, 1 for a NULL pool (which runs in the calling thread). The
/// pool stays the caller's and must outlive the executor. Tasks are handed out one by one as threads become free.
/// Several threads may use the executor at once, each call with shared and scratch of its own: the pool runs one
/// phase at a time, of whichever call. What runs on the pool must not use it: it would wait for itself.
/// Errors: NULL (executor), OVERFLOW (more threads than 32 bits count).
FOVEA_API enum fovea_status fovea_pthreadpool_executor(pthreadpool_t pool, struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
