// SPDX-License-Identifier: Apache-2.0
// ops/shares.c - shares of tasks, each a range in one atomic word. Relaxed: tasks of a phase do not depend on one
// another, and the executor orders the phase before and after them.
#include "ops/shares.h"
#include "ops/cut.h"

enum { HALF = 32 };

static uint32_t first_of(uint64_t range)
{
    return (uint32_t)range;
}

static uint32_t end_of(uint64_t range)
{
    return (uint32_t)(range >> HALF);
}

void fovea_share_out(struct fovea_shares *shares, uint32_t most, uint32_t tasks)
{
    const size_t count = fovea_min(fovea_min(most, FOVEA_SHARES_MAX), tasks);
    const struct fovea_cut cut = fovea_pieces(tasks, fovea_max(count, 1));
    shares->count = (uint32_t)cut.count;
    for (uint32_t i = 0; i < shares->count; i++) {
        const uint64_t end = fovea_cut_begin(&cut, i + 1);
        atomic_init(&shares->share[i].range, end << HALF | fovea_cut_begin(&cut, i));
    }
}

static bool take(_Atomic uint64_t *share, bool front, uint32_t *task)
{
    uint64_t range = atomic_load_explicit(share, memory_order_relaxed), left;
    do {
        if (first_of(range) == end_of(range)) {
            return false;
        }
        *task = front ? first_of(range) : end_of(range) - 1;
        left = front ? range + 1 : range - ((uint64_t)1 << HALF);
    } while (!atomic_compare_exchange_weak_explicit(share, &range, left, memory_order_relaxed, memory_order_relaxed));
    return true;
}

bool fovea_take_task(struct fovea_shares *shares, uint32_t worker, uint32_t *task)
{
    const uint32_t own = worker % shares->count;
    bool taken = take(&shares->share[own].range, true, task);
    for (uint32_t i = 1; i < shares->count && !taken; i++) {
        taken = take(&shares->share[(own + i) % shares->count].range, false, task);
    }
    return taken;
}

bool fovea_all_taken(const struct fovea_shares *shares)
{
    bool all = true;
    for (uint32_t i = 0; i < shares->count; i++) {
        const uint64_t range = atomic_load_explicit(&shares->share[i].range, memory_order_relaxed);
        all &= first_of(range) == end_of(range);
    }
    return all;
}
