// SPDX-License-Identifier: Apache-2.0
// history/energy.h - the energy statistic of E-divisive: where a stretch of values is best cut in two, and by chance?
//
// Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", JASA 109,
// 2014. The distance of two values is |x - y| up to a cap, beyond which it grows no more: that is still of negative
// type (the cap minus it is a triangular kernel), so the statistic still tells any two distributions apart, and a
// single wild run weighs no more than a run that differs clearly.
#ifndef FOVEA_HISTORY_ENERGY_H
#define FOVEA_HISTORY_ENERGY_H

#include <stddef.h>

enum { ENERGY_MAX = 128 }; ///< values of a stretch

/// Where a stretch is cut: [0, at) and [at, count).
struct energy_cut {
    size_t at;
    double q; ///< the statistic, the larger the more different; -1: there is no place to cut
};

/// The distances of all pairs of a stretch.
struct energy {
    size_t count;
    double total;            ///< of all pairs, each once
    double row[ENERGY_MAX];  ///< of one value to all others
    double odds[ENERGY_MAX]; ///< (count - a) / a
    float distance[ENERGY_MAX][ENERGY_MAX];
};
/// count <= ENERGY_MAX. cap: INFINITY for none.
void energy_make(struct energy *energy, const double *values, size_t count, double cap);
/// Places of cuts: 0 < first <= last < count.
struct energy_range {
    size_t first, last;
};
/// The best cut within a range.
struct energy_cut energy_best(const struct energy *energy, struct energy_range range);
/// The share of orders of these values (`permutations` random ones, the same every time, and theirs) whose best cut
/// within the range has a statistic of at least q. Stops early, with what it has, once the share is sure to be above
/// `enough`.
double energy_chance(const struct energy *energy, struct energy_range range, double q, size_t permutations,
                     double enough);

#endif
