// SPDX-License-Identifier: Apache-2.0
// tune/walk.h - operands that calls use in rotation, so that each comes from memory.
#ifndef FOVEA_TUNE_WALK_H
#define FOVEA_TUNE_WALK_H

#include "dispatch/adopt.h"

#include <stdbool.h>

/// An operand of a case and, if it is far, as many places for it as a walk needs. Initially zero.
struct tune_walk {
    void *own; ///< the operand itself, `bytes` bytes, which is used for verification
    size_t bytes, stride;
    size_t count, next; ///< places; 0: the operand stays in cache
    bool header;        ///< its first line is not numbers
    bool within;        ///< this sample's places begin within cache lines
};

/// From now on operands are far only if creating their places takes less than this many seconds.
void tune_walk_allow(double seconds);
/// Makes room for an operand. False if there is no memory, or no time for it.
bool tune_walk_make(struct tune_walk *walk, const struct fovea_engine *engine, size_t bytes, bool far, bool header);
/// To be called after the operand is written and before the calls of a sample are timed: copies its header, if it has
/// one, to the places. `within`: these begin within cache lines, where tune_walk_shifts.
void tune_walk_begin(struct tune_walk *walk, bool within);
/// The operand of the next call: if it is far, other numbers in [-1, 1), in (-2, 2) if they are of 16 bits, after a
/// header if it has one.
const void *tune_walk_next(struct tune_walk *walk);
/// Whether some samples find it within a cache line: not a blob, nor what stays in cache.
bool tune_walk_shifts(const struct tune_walk *walk);
/// Moves the operand itself, if they do, to where it begins within a line as there, or back; returns where it is.
void *tune_walk_shift(struct tune_walk *walk, bool within);
void tune_walk_free(struct tune_walk *walk);

/// Frees the area that contains the places of all walks; if this is not called, it lives until the end of the process.
void tune_walk_end(void);

#endif
