// SPDX-License-Identifier: Apache-2.0
// tune/walk.h - operands that calls take in turns, so that each comes from memory.
#ifndef FOVEA_TUNE_WALK_H
#define FOVEA_TUNE_WALK_H

#include "dispatch/adopt.h"

#include <stdbool.h>

/// An operand of a case, and, if it is far, as many places for it as a walk needs. Begins as zeros.
struct tune_walk {
    void *own; ///< the operand itself, `bytes` bytes: what is verified is computed of it
    size_t bytes, stride;
    size_t count, next; ///< places; 0: the operand stays in cache
    bool header;        ///< its first line is not numbers
};

/// From now on operands are far only where making their places takes less than so many seconds.
void tune_walk_allow(double seconds);
/// Makes room for an operand. False without memory, or the seconds for it.
bool tune_walk_make(struct tune_walk *walk, const struct fovea_engine *engine, size_t bytes, bool far, bool header);
/// Once the operand is written, before calls are timed: the places get its header, if it has one.
void tune_walk_begin(const struct tune_walk *walk);
/// The operand of the next call: if it is far, other numbers in [-1, 1), behind a header if it has one.
const void *tune_walk_next(struct tune_walk *walk);
void tune_walk_free(struct tune_walk *walk);

/// Frees the area in which all walks have their places, or leaves it to the end of the process where it is not called.
void tune_walk_end(void);

#endif
