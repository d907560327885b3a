// SPDX-License-Identifier: Apache-2.0
// tune/cache.h - how much really stays in L2.
#ifndef FOVEA_TUNE_CACHE_H
#define FOVEA_TUNE_CACHE_H

#include <stddef.h>

/// The largest of the sizes worth trying as the border (kernels/tuning.def) up to which lines come from L2, in bytes,
/// by timing chains of loads, now or in an earlier call; 0: not even the smallest one, or no memory. Takes some 20 ms.
/// Not for several threads.
size_t tune_measure_l2(void);

/// The most that it tells: an L2 of at least so many bytes.
size_t tune_measured_most(void);

#endif
