// SPDX-License-Identifier: Apache-2.0
// fovea/openmp.h - an executor on the threads of OpenMP (library fovea_openmp).
#ifndef FOVEA_OPENMP_H
#define FOVEA_OPENMP_H

#include "fovea/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Fills executor: `threads` workers, each call of which is a parallel region of at most that many threads, handed
/// tasks one by one as they become free. omp_get_max_threads() is what OMP_NUM_THREADS says. OpenMP may give fewer
/// (dynamic teams, a thread limit, one inside another parallel region): slower, and the same bits. Several threads may
/// use the executor at once, and so may what runs on it, each call with shared and scratch of its own. The threads are
/// OpenMP's, which starts them at need and keeps them; GNU's does not survive a fork that follows.
/// Errors: NULL (executor), VALUE (threads below 1).
FOVEA_API enum fovea_status fovea_openmp_executor(int threads, struct fovea_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
