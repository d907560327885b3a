// SPDX-License-Identifier: Apache-2.0
// history/energy.c - best cuts in one walk over the pairs, and the permutation test.
#include "history/energy.h"

#include <math.h>
#include <stdint.h>

void energy_make(struct energy *energy, const double *values, size_t count, double cap)
{
    energy->count = count;
    energy->total = 0;
    for (size_t a = 1; a < count; a++)
        energy->odds[a] = (double)(count - a) / (double)a;
    for (size_t i = 0; i < count; i++) {
        double row = 0;
        for (size_t j = 0; j < count; j++) {
            const double distance = fabs(values[i] - values[j]);
            energy->distance[i][j] = (float)(distance < cap ? distance : cap);
        }
        for (size_t j = 0; j < count; j++)
            row += (double)energy->distance[i][j];
        energy->row[i] = row;
        energy->total += row / 2;
    }
}

// Values join the left side one after the other, and the sums within both sides follow. near[i] is what i is away from
// all on the left: kept for every i, as adding whole rows takes a sixth of the time of picking what is asked for.
static struct energy_cut best_cut(const struct energy *energy, const uint16_t *order, struct energy_range range)
{
    const size_t n = energy->count;
    struct energy_cut best = {0, -1};
    float near[ENERGY_MAX] = {0};
    double left = 0, right = energy->total; // pairs within a side
    for (size_t t = 0; t < range.last; t++) {
        const double joined = (double)near[order[t]];
        const float *const distance = energy->distance[order[t]];
        for (size_t i = 0; i < n; i++)
            near[i] += distance[i];
        left += joined;
        right -= energy->row[order[t]] - joined;
        if (t + 1 < range.first)
            continue;
        // a b / (a + b) * 2 * (across / (a b) - left / a^2 - right / b^2) without its divisions
        const double across = energy->total - left - right;
        const double q = across - left * energy->odds[t + 1] - right * energy->odds[n - t - 1];
        if (q > best.q)
            best = (struct energy_cut){t + 1, q};
    }
    best.q *= best.at ? 2 / (double)n : 1;
    return best;
}

struct energy_cut energy_best(const struct energy *energy, struct energy_range range)
{
    uint16_t order[ENERGY_MAX];
    for (size_t i = 0; i < energy->count; i++)
        order[i] = (uint16_t)i;
    return best_cut(energy, order, range);
}

double energy_chance(const struct energy *energy, struct energy_range range, double q, size_t permutations,
                     double enough)
{
    uint16_t order[ENERGY_MAX];
    uint64_t random = 0x9e3779b97f4a7c15u;
    size_t reached = 1, done = 1; // the order that was found counts as one
    for (size_t i = 0; i < energy->count; i++)
        order[i] = (uint16_t)i;
    while (done <= permutations && (double)reached <= enough * (double)(permutations + 1)) {
        for (size_t i = energy->count; i > 1; i--) {
            random = random * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX generator
            const size_t j = (size_t)((random >> 33) % i);
            const uint16_t swapped = order[i - 1];
            order[i - 1] = order[j];
            order[j] = swapped;
        }
        reached += best_cut(energy, order, range).q >= q * (1 - 1e-6);
        done++;
    }
    return (double)reached / (double)done;
}
