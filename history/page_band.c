// SPDX-License-Identifier: Apache-2.0
// history/page_band.c - the interval of a median by order statistics.
#include "history/page_band.h"
#include "bench/stats.h"

#include <math.h>
#include <string.h>

// How many values lie outside on each side: the largest k with P(fewer than k of n fair coins fall heads) <= 5 %. For
// any distribution, the k-th smallest and the k-th largest value hold the median between them.
static size_t outside(size_t n)
{
    double term = pow(0.5, (double)n), sum = 0; // term: exactly `k` heads
    size_t k = 0;
    while (k < n / 2 && sum + term <= 0.05) {
        sum += term;
        term *= (double)(n - k) / (double)(k + 1);
        k++;
    }
    return k ? k - 1 : 0;
}

struct page_band page_band(const struct history_point *point, double *work)
{
    enum { FEW = 5, MANY = 8 };
    static const double distances[MANY - FEW] = {4.2, 2.0, 1.9}; // median ones that hold 90 % of normal values
    const size_t n = point->count;
    if (!point->values || n < 2)
        return (struct page_band){point->median, point->median};
    memcpy(work, point->values, n * sizeof *work);
    const double median = bench_quantile(work, n, 0.5); // sorts
    const size_t k = outside(n);
    const struct page_band band = {work[k], work[n - 1 - k]};
    if (n < FEW || n >= MANY)
        return band;
    for (size_t i = 0; i < n; i++)
        work[i] = fabs(work[i] - median);
    const double far = distances[n - FEW] * bench_quantile(work, n, 0.5);
    return (struct page_band){fmax(band.low, median - far), fmin(band.high, median + far)};
}
