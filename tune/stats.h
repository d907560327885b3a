// SPDX-License-Identifier: Apache-2.0
// tune/stats.h - whether a gain is more than chance.
#ifndef FOVEA_TUNE_STATS_H
#define FOVEA_TUNE_STATS_H

#include <stddef.h>

enum { TUNE_PAIRS_MAX = 64 };

/// Wilcoxon's signed-rank test, one-sided and exact: the probability of ranks of positive values at least as high as
/// these if values are symmetric about 0. count <= TUNE_PAIRS_MAX; zeros are left out.
double tune_signed_rank(const double *values, size_t count);

#endif
