// SPDX-License-Identifier: Apache-2.0
// fovea/executor.h - how the caller lends threads, and what a plan needs.
#ifndef FOVEA_EXECUTOR_H
#define FOVEA_EXECUTOR_H

#include "fovea/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The caller's threads. parallel_for calls body(arg, task, worker) once for each task < count, in any order, on any
/// thread, and returns when all are done; worker < workers, and two calls that run at the same time have different
/// workers (each has its own scratch). What tasks write is seen behind its return. A phase of one task, and all where
/// there is one worker, run in the thread of the call, as worker 0; parallel_for is not NULL even then. The library
/// never starts a thread.
struct fovea_executor {
    uint32_t workers; ///< at least 1
    void *state;      ///< passed to parallel_for
    void (*parallel_for)(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                         void *arg);
};

/// What running a plan needs. Both memories are 64-byte aligned; they may be uninitialised.
struct fovea_work {
    size_t shared_bytes;  ///< one buffer for the call
    size_t scratch_bytes; ///< one buffer for each worker: workers x scratch_bytes, one after another (a multiple of 64)
    uint32_t phases;      ///< tasks of a phase may run in any order; a phase begins when the one before it is done
    uint32_t kind;        ///< what the plan is of: a call of anything else, or of no plan at all, is FOVEA_ERR_STRUCT
};

#ifdef __cplusplus
}
#endif

#endif
