// SPDX-License-Identifier: Apache-2.0
// tune/cache.h - how much really stays in L2.
#ifndef FOVEA_TUNE_CACHE_H
#define FOVEA_TUNE_CACHE_H

#include <stddef.h>
#include <stdint.h>

/// The largest of the border sizes worth trying (kernels/tuning.def), in bytes, from which lines still come from L2,
/// found by timing chains of loads, now or in an earlier call. 0: not even the smallest one, or no memory. Takes about
/// 20 ms. Not thread-safe.
size_t tune_measure_l2(void);

/// The L2 that a profile should have, in bytes, or 0: as reported. Twice as much as is reported, or more, is believed
/// where it is measured: other programs on the core can only take cache away. So is what an earlier search found,
/// `kept`.
uint32_t tune_believed_l2(uint32_t reported, uint32_t kept, size_t measured);

/// The most that it can return: an L2 of at least this many bytes.
size_t tune_measured_most(void);

#endif
