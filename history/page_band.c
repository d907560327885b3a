// SPDX-License-Identifier: Apache-2.0
// history/page_band.c - the interval of a median by order statistics.
#include "history/page_band.h"
#include "bench/stats.h"

#include <math.h>
#include <string.h>

// How many values lie outside on each side: the largest k with P(fewer than k of n fair coins fall heads) <= 2.5 %, and
// none of a few. For any distribution, the k-th smallest and the k-th largest value hold the median between them.
static size_t outside(size_t n)
{
    double term = pow(0.5, (double)n), sum = 0; // term: exactly `k` heads
    size_t k = 0;
    while (k < n / 2 && sum + term <= 0.025) {
        sum += term;
        term *= (double)(n - k) / (double)(k + 1);
        k++;
    }
    return k ? k - 1 : 0;
}

struct page_band page_band(const struct history_point *point, double *work)
{
    const size_t n = point->count;
    if (!point->values || n < 2)
        return (struct page_band){point->median, point->median};
    memcpy(work, point->values, n * sizeof *work);
    bench_quantile(work, n, 0.5); // sorts
    const size_t k = outside(n);
    return (struct page_band){work[k], work[n - 1 - k]};
}
