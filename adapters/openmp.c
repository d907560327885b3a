// SPDX-License-Identifier: Apache-2.0
// adapters/openmp.c - struct fovea_executor over OpenMP.
//
// A worker is a thread of the team that a call makes: its number is below the size of the team, which never exceeds
// what is asked for. The region is the call's own, so it may lie inside other regions, loops and tasks of the caller.
#include "fovea/openmp.h"
#include <omp.h>

static void parallel_for(void *state, uint32_t count, void (*body)(void *arg, uint32_t task, uint32_t worker),
                         void *arg)
{
    const uint32_t workers = (uint32_t)(uintptr_t)state, team = workers < count ? workers : count;
    if (team == 0) { // no tasks; a team of 0 is not legal
        return;
    }
#pragma omp parallel for num_threads((int)team) schedule(dynamic)
    for (uint32_t task = 0; task < count; task++) {
        body(arg, task, (uint32_t)omp_get_thread_num());
    }
}

enum fovea_status fovea_openmp_executor(int threads, struct fovea_executor *executor)
{
    if (executor == NULL) {
        return FOVEA_ERR_NULL;
    }
    if (threads < 1) {
        return FOVEA_ERR_VALUE;
    }
    // The number itself is the state: nothing to own, nothing to free.
    *executor = (struct fovea_executor){
        .workers = (uint32_t)threads, .state = (void *)(uintptr_t)threads, .parallel_for = parallel_for};
    return FOVEA_OK;
}
