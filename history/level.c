// SPDX-License-Identifier: Apache-2.0
// history/level.c - medians, Huber's means, and a robust t-test.
#include "history/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_MAX = 128 };

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double level_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

// Distances from the median; returns the median.
static double centre(const double *values, size_t count, double *rest)
{
    memcpy(rest, values, count * sizeof *rest);
    const double middle = level_median(rest, count);
    for (size_t i = 0; i < count; i++)
        rest[i] = values[i] - middle;
    return middle;
}

// Huber's mean in one step from the median: distances beyond the limit count as the limit.
static double huber(double middle, const double *rest, size_t count, double limit, double *squares)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double held = fmin(fmax(rest[i], -limit), limit);
        sum += held;
    }
    const double shift = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        const double held = fmin(fmax(rest[i], -limit), limit) - shift;
        *squares += held * held;
    }
    return middle + shift;
}

// The deviate of Student's t that 97.5 % lie below, by Cornish and Fisher's expansion (within 1 % from 4 degrees on).
static double student(double freedom)
{
    static const double z = 1.959964;
    return z + (pow(z, 3) + z) / (4 * freedom) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * freedom * freedom);
}

struct level_step level_compare(const double *before, size_t before_count, const double *after, size_t after_count)
{
    // Cut off at two deviations, a normal distribution keeps 0.92 of its variance.
    static const double limit_sigmas = 2, kept = 0.920;
    double rest[2 * LEVEL_MAX], sizes[2 * LEVEL_MAX], squares = 0;
    const size_t count = before_count + after_count;
    const double left = centre(before, before_count, rest), right = centre(after, after_count, rest + before_count);
    for (size_t i = 0; i < count; i++)
        sizes[i] = fabs(rest[i]);
    const double limit = limit_sigmas * LEVEL_SIGMA * level_median(sizes, count);
    const double low = huber(left, rest, before_count, limit, &squares);
    const double high = huber(right, rest + before_count, after_count, limit, &squares);
    const double freedom = count > 2 ? (double)count - 2 : 1;
    const double sigma = sqrt(squares / kept / freedom);
    const double error = sigma * sqrt(1 / (double)before_count + 1 / (double)after_count);
    struct level_step step = {.before = low, .difference = high - low, .sigma = sigma, .score = INFINITY};
    step.low = step.difference - student(freedom) * error;
    step.high = step.difference + student(freedom) * error;
    if (error > 0) {
        const double t = step.difference / error;
        // Wallace's normal deviate of Student's t (1959).
        step.score = (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));
    }
    return step;
}
