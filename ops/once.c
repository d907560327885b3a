// SPDX-License-Identifier: Apache-2.0
// ops/once.c - one call that plans, allocates, runs in this thread and frees: the only allocations in ops/.
#include "fovea/attention.h"
#include "fovea/gemm.h"
#include "fovea/rowwise.h"
#include "ops/once.h"

void *fovea_once_memory(const struct fovea_work *work)
{
    size_t bytes = 0;
    if (!fovea_add(work->shared_bytes, FOVEA_ALIGNMENT, &bytes) || !fovea_add(bytes, work->scratch_bytes, &bytes)) {
        return NULL;
    }
    return aligned_alloc(FOVEA_ALIGNMENT, fovea_round_up(bytes, FOVEA_ALIGNMENT));
}

FOVEA_ONCE(attention)
FOVEA_ONCE(gemm)
FOVEA_ONCE(rowwise)
