// SPDX-License-Identifier: Apache-2.0
// fovea/pthreadpool.h - an executor that runs on the threads of a pthreadpool (library fovea_pthreadpool).
#ifndef FOVEA_PTHREADPOOL_H
#define FOVEA_PTHREADPOOL_H

#include "fovea/executor.h"
#include <pthreadpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Fills executor with as many workers as the pool has threads, or 1 for a NULL pool (which runs in the calling
/// thread). The pool stays the caller's and must outlive the executor. Threads take tasks one by one as they become
/// free. Several threads may use the executor at once, each call with its own shared and scratch; the pool runs one
/// phase of one call at a time. Work that runs on the pool must not use the executor: it would wait for itself.
/// Errors: NULL (executor), OVERFLOW (more threads than 32 bits count).
FOVEA_API enum fovea_status fovea_pthreadpool_executor(pthreadpool_t pool, struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
