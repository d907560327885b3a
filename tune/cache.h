// SPDX-License-Identifier: Apache-2.0
// tune/cache.h - how much really stays in L2.
#ifndef FOVEA_TUNE_CACHE_H
#define FOVEA_TUNE_CACHE_H

#include <stddef.h>

/// The largest of the border sizes worth trying (kernels/tuning.def), in bytes, from which lines still come from L2,
/// found by timing chains of loads, now or in an earlier call. 0: not even the smallest one, or no memory. Takes about
/// 20 ms. Not thread-safe.
size_t tune_measure_l2(void);

/// The most that it can return: an L2 of at least this many bytes.
size_t tune_measured_most(void);

#endif
