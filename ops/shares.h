// SPDX-License-Identifier: Apache-2.0
// ops/shares.h - which task of a phase a worker runs next.
//
// Tasks that follow one another read the same operands, and many prefetch what the next one reads. Executors draw
// numbers from a counter, so that a worker gets every other one. So it does not run the number it is called with:
// each worker has a share of its own, of tasks in a row, and takes one for each call from the front, or, once its share
// is empty, from the back of another. One share for all keeps tasks in order. With two threads of Zen 5 attention
// is 1.00 to 1.3 times as fast so, layers 1.03 to 1.08 (docs/measurements/zen5.md, "Two threads").
#ifndef FOVEA_OPS_SHARES_H
#define FOVEA_OPS_SHARES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { FOVEA_SHARES_MAX = 64 }; ///< workers beyond have a share together with another

/// Only the first `count` shares are initialised.
struct fovea_shares {
    uint32_t count;
    struct {
        _Alignas(64) _Atomic uint64_t range; // its first task, and in the upper half its end; a line of its own
    } share[FOVEA_SHARES_MAX];
};

/// Divides tasks into at most so many shares, of which there is at least one.
void fovea_share_out(struct fovea_shares *shares, uint32_t most, uint32_t tasks);

/// Takes the next task of a worker. False if none is left: shares only shrink, so as many calls succeed as there are
/// tasks.
bool fovea_take_task(struct fovea_shares *shares, uint32_t worker, uint32_t *task);

/// Whether no task is left.
bool fovea_all_taken(const struct fovea_shares *shares);

#endif
