// SPDX-License-Identifier: Apache-2.0
// fovea/openmp.h - an executor that runs on OpenMP threads (library fovea_openmp).
#ifndef FOVEA_OPENMP_H
#define FOVEA_OPENMP_H

#include "fovea/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Fills executor with `threads` workers. Each parallel_for is a parallel region of at most that many threads, which
/// take tasks one by one as they become free. omp_get_max_threads() is what OMP_NUM_THREADS says. OpenMP may give fewer
/// threads (dynamic teams, a thread limit, a nested parallel region): that is slower, with the same bits. Several
/// threads may use the executor at once, even from inside work that runs on it, each call with its own shared and
/// scratch. The threads are owned by OpenMP, which starts them on demand and keeps them; GNU's do not survive a later
/// fork.
/// Errors: NULL (executor), VALUE (threads below 1).
FOVEA_API enum fovea_status fovea_openmp_executor(int threads, struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
