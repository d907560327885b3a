// SPDX-License-Identifier: Apache-2.0
// history/level.h - the level of some runs, and how clearly two levels differ, one wild run or not.
#ifndef FOVEA_HISTORY_LEVEL_H
#define FOVEA_HISTORY_LEVEL_H

#include <stddef.h>

/// Times the median distance from the middle: the standard deviation, of a normal distribution.
#define LEVEL_SIGMA 1.4826

/// The median of count >= 1 values. Reorders them.
double level_median(double *values, size_t count);

/// From one level to another.
struct level_step {
    double before;     ///< the robust mean before
    double difference; ///< of the robust means
    double low, high;  ///< its 95 % interval
    double sigma;      ///< standard deviation of one value about its level; 0 where they do not vary
    double score;      ///< |difference| in standard errors, as of a normal distribution; INFINITY where sigma is 0
};
/// Compares two runs of values, each of at least one and at most 128.
struct level_step level_compare(const double *before, size_t before_count, const double *after, size_t after_count);

#endif
