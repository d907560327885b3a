// SPDX-License-Identifier: Apache-2.0
// ops/once.h - one call that plans, allocates, runs in this thread and frees, for any operator.
#ifndef FOVEA_OPS_ONCE_H
#define FOVEA_OPS_ONCE_H

#include "ops/check.h"
#include "fovea/executor.h"
#include <stdlib.h>

/// Allocates shared memory followed by the scratch of one worker; NULL if there is no memory. To be freed with free().
void *fovea_once_memory(const struct fovea_work *work);

/// Defines fovea_<op>_once.
#define FOVEA_ONCE(op)                                                                                                 \
    enum fovea_status fovea_##op##_once(const struct fovea_engine *engine, const struct fovea_##op##_desc *desc,       \
                                        const struct fovea_##op##_args *args)                                          \
    {                                                                                                                  \
        struct fovea_work *const plan = aligned_alloc(FOVEA_ALIGNMENT, fovea_##op##_plan_size());                      \
        void *memory = NULL;                                                                                           \
        enum fovea_status status = plan != NULL ? fovea_##op##_plan(engine, desc, plan) : FOVEA_ERR_MEMORY;            \
        if (status == FOVEA_OK) {                                                                                      \
            memory = fovea_once_memory(plan);                                                                          \
            status = memory != NULL ? FOVEA_OK : FOVEA_ERR_MEMORY;                                                     \
        }                                                                                                              \
        if (status == FOVEA_OK) {                                                                                      \
            char *const scratch = (char *)memory + fovea_round_up(plan->shared_bytes, FOVEA_ALIGNMENT);                \
            status = fovea_##op(plan, args, memory, scratch, NULL);                                                    \
        }                                                                                                              \
        free(memory);                                                                                                  \
        free(plan);                                                                                                    \
        return status;                                                                                                 \
    }

#endif
