// SPDX-License-Identifier: Apache-2.0
// bench/stats.h - medians, quartiles, and the bootstrap interval of a median.
#ifndef FOVEA_BENCH_STATS_H
#define FOVEA_BENCH_STATS_H

#include <stddef.h>

/// The q-quantile (0 to 1) of count >= 1 values, interpolated. Sorts them.
double bench_quantile(double *values, size_t count, double q);

/// An estimate and where it lies with 95 % probability.
struct bench_interval {
    double low, median, high;
};
/// The median of count >= 1 values and its 95 % interval from 1000 resamples, the same ones each time.
struct bench_interval bench_bootstrap(double *values, size_t count);

#endif
