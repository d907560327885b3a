// SPDX-License-Identifier: Apache-2.0
// bench/stats.c - order statistics; Efron's percentile bootstrap (Annals of Statistics 7, 1979).
#include "bench/stats.h"

#include <stdint.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t count, double q)
{
    qsort(values, count, sizeof *values, compare);
    const double at = q * (double)(count - 1);
    const size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
    return values[low] + (at - (double)low) * (values[high] - values[low]);
}

struct bench_interval bench_bootstrap(double *values, size_t count)
{
    enum { RESAMPLES = 1000, DRAWN_MAX = 400 };
    const size_t drawn = count < DRAWN_MAX ? count : DRAWN_MAX; // more would only narrow the interval
    double medians[RESAMPLES], sample[DRAWN_MAX];
    uint64_t random = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < RESAMPLES; i++) {
        for (size_t j = 0; j < drawn; j++) {
            random = random * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX generator
            sample[j] = values[(random >> 33) % count];
        }
        medians[i] = bench_quantile(sample, drawn, 0.5);
    }
    return (struct bench_interval){bench_quantile(medians, RESAMPLES, 0.025), bench_quantile(values, count, 0.5),
                                   bench_quantile(medians, RESAMPLES, 0.975)};
}
