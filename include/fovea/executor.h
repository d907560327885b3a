// SPDX-License-Identifier: Apache-2.0
// fovea/executor.h - how the caller lends threads, and what running a plan needs.
#ifndef FOVEA_EXECUTOR_H
#define FOVEA_EXECUTOR_H

#include "fovea/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The caller's threads. parallel_for calls body(arg, task, worker) once for each task < count, in any order and on any
/// threads, and returns when all are done. worker is below workers; two calls that run at the same time must pass
/// different worker numbers, as each worker has its own scratch. Everything written before parallel_for was called must
/// be visible to body, and everything body wrote once parallel_for returns. It is called once for each phase, with a
/// count that may be below workers. A phase of one task, and every phase if workers is 1, runs in the calling thread as
/// worker 0 without parallel_for, which must not be NULL even then. The library never starts a thread.
///
/// A call of body runs one task, but not always that of the number: a worker is given tasks that follow one another,
/// which read the same operands, so a plain counter that hands out numbers is as good as any order.
///
/// body does nothing for a worker or a task out of range, or if all tasks have been run, and the call returns
/// FOVEA_ERR_VALUE, as it does after too few calls of body: its outputs are then incomplete. The other rules are not
/// checked.
struct fovea_executor {
    uint32_t workers; ///< at least 1
    void *state;      ///< passed to parallel_for
    void (*parallel_for)(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                         void *arg);
};

/// What running a plan needs. shared and scratch must be 64-byte aligned; they may be uninitialised, and NULL where the
/// size is 0. Neither may overlap the other or any operand of the call. Calls of any plans that run one after another
/// may use the same memory, as large as the largest of them needs; calls that run at the same time need their own,
/// which is not checked. Plans, packed blobs and states of attention are 64-byte aligned, too. Tensors, caches and
/// masks need only the alignment of their elements, in most cases that of a float.
///
/// Sizes of plans, of packed blobs, of states and of work memory are multiples of 64, as aligned_alloc(64, ...)
/// requires.
///
/// Making a plan reads no operand. On Zen 4 it takes 0.2 us, for a layer 2 us (with an engine for 64 workers up to 1.2
/// and 12), so where it suits the caller each call may have a plan of its own.
struct fovea_work {
    size_t shared_bytes;  ///< size of the one buffer that all workers of a call share
    size_t scratch_bytes; ///< size of the buffer of each worker; scratch is workers x scratch_bytes, one buffer after
                          ///< another
    uint32_t phases;      ///< the tasks of a phase may run in any order; a phase begins when the one before it is done
    uint32_t kind;        ///< kind of operator; passing the plan to any other operator, or memory that is no plan,
                          ///< gives FOVEA_ERR_STRUCT
};

#ifdef __cplusplus
}
#endif

#endif
