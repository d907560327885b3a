// SPDX-License-Identifier: Apache-2.0
// history/utest.c - Mann and Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger than
// the Other", Annals of Mathematical Statistics 18, 1947.
#include "history/utest.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { EXACT_MAX = 50 };

// Twice U: pairs in which b is larger count 2, equal ones 1.
static size_t twice_u(const double *a, size_t a_count, const double *b, size_t b_count)
{
    size_t u = 0;
    for (size_t i = 0; i < a_count; i++)
        for (size_t j = 0; j < b_count; j++)
            u += a[i] < b[j] ? 2 : a[i] == b[j];
    return u;
}

// The sum of t^3 - t over groups of t equal values.
static double ties(const double *a, size_t a_count, const double *b, size_t b_count)
{
    double sum = 0; // each value of a group of t adds t^2 - 1
    const double *const sides[] = {a, b};
    const size_t counts[] = {a_count, b_count};
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < counts[side]; i++) {
            double equal = 0;
            for (size_t j = 0; j < a_count; j++)
                equal += a[j] == sides[side][i];
            for (size_t j = 0; j < b_count; j++)
                equal += b[j] == sides[side][i];
            sum += equal * equal - 1;
        }
    return sum;
}

// The share of arrangements whose U is at most u: row m of ways[n][u'] counts those of m and n values, by their largest
// one. Counts fit a double: C(50, 25) is 1.3e14.
static double exact_below(size_t m, size_t n, size_t u)
{
    const size_t width = m * n + 1;
    double *const ways = calloc((n + 1) * width, sizeof *ways);
    if (!ways)
        return 1;
    for (size_t j = 0; j <= n; j++)
        ways[j * width] = 1;
    for (size_t i = 1; i <= m; i++)
        for (size_t j = 1; j <= n; j++)
            for (size_t v = i * j + 1; v-- > 0;) // of m: it lies above all j others; of n: the counts of (i, j - 1)
                ways[j * width + v] = (v >= j ? ways[j * width + v - j] : 0) + ways[(j - 1) * width + v];
    double below = 0, all = 0;
    for (size_t v = 0; v < width; v++) {
        all += ways[n * width + v];
        below += v <= u ? ways[n * width + v] : 0;
    }
    free(ways);
    return below / all;
}

double utest(const double *a, size_t a_count, const double *b, size_t b_count)
{
    if (a_count == 0 || b_count == 0)
        return 1;
    const size_t twice = twice_u(a, a_count, b, b_count), most = 2 * a_count * b_count;
    const size_t less = twice < most - twice ? twice : most - twice;
    const double tied = ties(a, a_count, b, b_count);
    if (tied == 0 && a_count + b_count <= EXACT_MAX)
        return fmin(1, 2 * exact_below(a_count, b_count, less / 2));
    const double pairs = (double)a_count * (double)b_count, all = (double)(a_count + b_count);
    const double variance = pairs / 12 * (all + 1 - tied / (all * (all - 1)));
    if (variance <= 0)
        return 1;
    const double away = fmax(0, pairs / 2 - (double)less / 2 - 0.5);
    return erfc(away / sqrt(2 * variance));
}
