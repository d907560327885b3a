// SPDX-License-Identifier: Apache-2.0
// tune/stats.c - Wilcoxon, Biometrics Bulletin 1 (1945). Exact: counts how many of all 2^n choices of signs give such a
// sum.
#include "tune/stats.h"

#include <math.h>
#include <stdlib.h>

static int smaller(const void *a, const void *b)
{
    const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

double tune_signed_rank(const double *values, size_t count)
{
    enum { SUMS = TUNE_PAIRS_MAX * (TUNE_PAIRS_MAX + 1) + 1 };
    double sorted[TUNE_PAIRS_MAX], ways[SUMS] = {1};
    size_t n = 0, positive = 0, total = 0;
    for (size_t i = 0; i < count && n < TUNE_PAIRS_MAX; i++)
        if (values[i] != 0)
            sorted[n++] = values[i];
    qsort(sorted, n, sizeof *sorted, smaller);
    for (size_t i = 0, j; i < n; i = j) { // ranks are doubled, so that the mean of ties is an integer
        for (j = i + 1; j < n && fabs(sorted[j]) == fabs(sorted[i]); j++)
            continue;
        const size_t rank = i + 1 + j;
        for (size_t t = i; t < j; t++) {
            positive += sorted[t] > 0 ? rank : 0;
            total += rank;
            for (size_t sum = total; sum >= rank; sum--)
                ways[sum] += ways[sum - rank];
        }
    }
    double high = 0, all = 0;
    for (size_t sum = 0; sum <= total; sum++) {
        all += ways[sum];
        high += sum >= positive ? ways[sum] : 0;
    }
    return high / all;
}
