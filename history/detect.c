// SPDX-License-Identifier: Apache-2.0
// history/detect.c - the changes of a series: cuts found by E-divisive, kept where three tests agree.
//
// A series is cut where the energy statistic is largest, within stretches of 32 and 128 runs (older runs say little
// about today's noise, and a short excursion drowns in a long stretch). The cut is a change if
//   1. the levels differ by at least the least effect that matters,
//   2. their robust means differ by so many standard errors (struct least), the more the shorter the shorter level, and
//   3. of random orders of the stretch's runs no more than a share p has so good a cut.
// Then both sides are searched. The second test is what keeps a check after every run quiet: 100 checks of a series
// see its extremes, which a test made for one look calls significant. Where nothing is found in what has happened
// last, the cuts 12 to 24 runs before the end are tried alone: against so few, random orders need less to be rare, so
// a small change is seen when it has become that old. Figures: docs/history.md.
//
// A series that does not vary (instructions) has no noise to test against: every change of its value is one.
#include "history/energy.h"
#include "history/history.h"
#include "history/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PERMUTATIONS = 999, SIDE = ENERGY_MAX, NEWEST_MIN = 12, NEWEST_MAX = 24 };
static const double still = 1e-4; // a series whose neighbours differ by less, in the median, does not vary

static const struct history_test defaults = {.effect = 0.03, .p = 0.005, .shortest = 3};

// Standard errors that two levels must differ by, and more for a shorter level of n runs: `more` / n. Found by
// simulation.
struct least {
    double score, more;
};
static const struct least usual = {3.7, 6}, in_short = {4.7, 6}, newest = {3.7, 0};

struct search {
    const double *values; // logarithms, so that differences are ratios
    size_t length;
    struct history_test test;
    struct energy *energy;
    struct cut {
        size_t at;
        double score, chance;
    } * cuts;
    size_t count;
};

// The median distance of neighbours; steps has room for count values.
static double neighbours(const double *values, double *steps, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        steps[i] = fabs(values[i + 1] - values[i]);
    return count > 1 ? level_median(steps, count - 1) : 0;
}

// The noise from one run to the next, whatever the level: from the differences of neighbours.
static double noise(const double *values, size_t count)
{
    double steps[ENERGY_MAX];
    return neighbours(values, steps, count) * LEVEL_SIGMA / sqrt(2);
}

// Tests 1 and 2, on at most SIDE runs on each side of a cut.
static double score(const struct search *search, size_t begin, size_t at, size_t end)
{
    if (at - begin > SIDE)
        begin = at - SIDE;
    if (end - at > SIDE)
        end = at + SIDE;
    const struct level_step step = level_compare(search->values + begin, at - begin, search->values + at, end - at);
    if (fabs(expm1(step.difference)) < search->test.effect)
        return 0;
    return step.score;
}

// The best cut of a stretch within a range, if it passes with `least` standard errors, and more where it is short.
static void try_stretch(struct search *search, size_t begin, size_t end, struct energy_range range, struct least least,
                        struct cut *best)
{
    enum { CAP = 4 };
    const size_t count = end - begin;
    const double *const values = search->values + begin;
    const double sigma = noise(values, count);
    energy_make(search->energy, values, count, sigma > 0 ? CAP * sigma : INFINITY);
    const struct energy_cut cut = energy_best(search->energy, range);
    if (cut.q <= 0)
        return;
    const double found = score(search, begin, begin + cut.at, end);
    const size_t shorter = cut.at < count - cut.at ? cut.at : count - cut.at;
    if (found < least.score + least.more / (double)shorter || found <= best->score)
        return;
    const double chance = energy_chance(search->energy, range, cut.q, PERMUTATIONS, search->test.p);
    if (chance <= search->test.p)
        *best = (struct cut){begin + cut.at, found, chance};
}

// All stretches of a length, overlapping by half, the last one up to the end.
static void try_stretches(struct search *search, size_t begin, size_t end, size_t length, struct least least,
                          struct cut *best)
{
    const size_t shortest = search->test.shortest, count = end - begin < length ? end - begin : length;
    if (count < 2 * shortest)
        return;
    for (size_t at = begin;; at += length / 2) {
        const size_t first = end - begin > length && at + length > end ? end - length : at;
        try_stretch(search, first, first + count, (struct energy_range){shortest, count - shortest}, least, best);
        if (first + length >= end)
            return;
    }
}

// The newest cuts, within the last stretch.
static void try_newest(struct search *search, size_t begin, struct cut *best)
{
    const size_t end = search->length;
    if (end - begin > ENERGY_MAX)
        begin = end - ENERGY_MAX;
    const size_t count = end - begin;
    if (count < 2 * NEWEST_MAX)
        return;
    try_stretch(search, begin, end, (struct energy_range){count - NEWEST_MAX, count - NEWEST_MIN}, newest, best);
}

static void find_cuts(struct search *search, size_t begin, size_t end)
{
    enum { SHORT = 32 };
    struct cut best = {0, 0, 1};
    try_stretches(search, begin, end, ENERGY_MAX, usual, &best);
    if (end - begin > SHORT)
        try_stretches(search, begin, end, SHORT, in_short, &best);
    if (best.at == 0 && end == search->length)
        try_newest(search, begin, &best);
    if (best.at == 0)
        return;
    find_cuts(search, begin, best.at);
    search->cuts[search->count++] = best;
    find_cuts(search, best.at, end);
}

// Where the value of a series that does not vary becomes another. A third of the effect counts: nothing hides it.
static void find_steps(struct search *search, size_t count)
{
    size_t begin = 0;
    for (size_t i = 1; i < count; i++)
        if (fabs(expm1(search->values[i] - search->values[begin])) >= search->test.effect / 3) {
            search->cuts[search->count++] = (struct cut){i, INFINITY, 0};
            begin = i;
        }
}

// The change at a cut, from the levels on both sides of it.
static struct history_change change_at(const struct search *search, size_t before, const struct cut *cut, size_t after,
                                       enum history_better better)
{
    const size_t begin = cut->at - before > SIDE ? cut->at - SIDE : before;
    const size_t end = after - cut->at > SIDE ? cut->at + SIDE : after;
    const double *const values = search->values;
    const struct level_step step = level_compare(values + begin, cut->at - begin, values + cut->at, end - cut->at);
    return (struct history_change){.at = cut->at,
                                   .before = exp(step.before),
                                   .after = exp(step.before + step.difference),
                                   .effect = expm1(step.difference),
                                   .low = expm1(step.low),
                                   .high = expm1(step.high),
                                   .confidence = 1 - cut->chance,
                                   .worse = step.difference * (double)better < 0};
}

// Somebody knows of a change that begins with a run near this one: later runs may move it a little.
bool history_is_acknowledged(const struct history_series *series, size_t at)
{
    enum { NEAR = 3 };
    for (size_t i = 0; i < series->acknowledgement_count; i++) {
        const size_t known = series->acknowledgements[i].at;
        if (known < series->count && (known > at ? known - at : at - known) <= NEAR)
            return true;
    }
    return false;
}

// The logarithms; false where a value has none.
static bool take_values(const struct history_series *series, double *values)
{
    for (size_t i = 0; i < series->count; i++) {
        if (!(series->points[i].median > 0))
            return false;
        values[i] = log(series->points[i].median);
    }
    return true;
}

size_t history_changes(const struct history_series *series, const struct history_test *test,
                       struct history_change *changes, size_t most)
{
    const size_t count = series->count;
    struct search search = {.test = test ? *test : defaults, .length = count};
    double *const values = calloc(2 * count + 1, sizeof *values);
    search.values = values;
    search.cuts = calloc(count + 1, sizeof *search.cuts);
    search.energy = malloc(sizeof *search.energy);
    search.test.effect = search.test.effect > 0 ? search.test.effect : defaults.effect;
    search.test.p = search.test.p > 0 ? search.test.p : defaults.p;
    search.test.shortest = search.test.shortest > 0 ? search.test.shortest : defaults.shortest;
    if (values && search.cuts && search.energy && take_values(series, values)) {
        if (count < 2 || neighbours(values, values + count, count) > still)
            find_cuts(&search, 0, count);
        else
            find_steps(&search, count);
    }
    for (size_t i = 0; i < search.count && i < most; i++) {
        changes[i] = change_at(&search, i > 0 ? search.cuts[i - 1].at : 0, &search.cuts[i],
                               i + 1 < search.count ? search.cuts[i + 1].at : count, series->better);
        changes[i].acknowledged = history_is_acknowledged(series, changes[i].at);
    }
    free(values);
    free(search.cuts);
    free(search.energy);
    return search.count;
}
