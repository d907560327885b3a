// SPDX-License-Identifier: Apache-2.0
// tests/history/detector.c - what the detector finds in synthetic histories, and how often it cries for nothing.
//
// Noise is that of a run's median. The seeds are not those on which the limits were chosen.
#include "history/check.h"
#include "tests/support/test.h"

enum { RUNS = 100, BASE = 80, NEAR = 5 };
static const double noise = 0.03;

enum law { NORMAL, STUDENT, SPIKES };

static double uniform(uint64_t *random)
{
    return ((double)(test_random(random) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *random)
{
    return sqrt(-2 * log(uniform(random))) * cos(6.283185307179586 * uniform(random));
}

// Of standard deviation 1, but for SPIKES: one run in twenty has four times the noise.
static double draw(enum law law, uint64_t *random)
{
    const double z = normal(random);
    if (law == STUDENT) { // of 3 degrees of freedom
        double squares = 0;
        for (int i = 0; i < 3; i++)
            squares += pow(normal(random), 2);
        return z / sqrt(squares / 3) / sqrt(3);
    }
    return law == SPIKES && uniform(random) < 0.05 ? 4 * z : z;
}

static struct history_run runs[2 * RUNS];
static struct history_point points[2 * RUNS];

// A history of one series, of which `count` runs have happened.
static struct history_book make_book(struct history_series *series, size_t count)
{
    *series = (struct history_series){.benchmark = "b",
                                      .metric = "real_time",
                                      .unit = "s",
                                      .machine = "m",
                                      .branch = "main",
                                      .better = HISTORY_LESS,
                                      .points = points,
                                      .count = count};
    for (size_t i = 0; i < 2 * RUNS; i++) {
        runs[i] = (struct history_run){.id = (int64_t)i + 1, .machine = "m", .branch = "main", .commit = "c"};
        points[i].run = i;
        points[i].count = 1;
    }
    return (struct history_book){.runs = runs, .run_count = count, .series = series, .series_count = 1};
}

// A series that steps to (1 + step) times its level at run BASE.
static void make_series(enum law law, double step, uint64_t *random)
{
    for (size_t i = 0; i < 2 * RUNS; i++)
        points[i].median = 1e-3 * (i < BASE ? 1 : 1 + step) * (1 + noise * draw(law, random));
}

// Whether a check after `count` runs reports a regression; `*at` is where the last one begins.
static bool alarmed(size_t count, size_t recent, size_t *at)
{
    struct history_series series;
    const struct history_book book = make_book(&series, count);
    const struct check_options options = {.branch = "main", .recent = recent};
    struct check check;
    bool missing, found = false;
    CHECK(history_check(&book, &options, &check, &missing), "check of %zu runs", count);
    for (size_t i = 0; i < check.count; i++)
        if (check.findings[i].kind == CHECK_REGRESSION && (!found || check.findings[i].change.at > *at)) {
            found = true;
            *at = check.findings[i].change.at;
        }
    check_free(&check);
    return found;
}

// The share of series in which a check after one of the first `within` runs reports the step where it is.
static double found(enum law law, double step, size_t within, size_t series, uint64_t seed)
{
    size_t seen = 0;
    for (size_t i = 0; i < series; i++) {
        bool hit = false;
        make_series(law, step, &seed);
        for (size_t run = 1; run <= within && !hit; run++) {
            size_t at = 0;
            hit = alarmed(BASE + run, 20, &at) && at + NEAR >= BASE && at <= BASE + NEAR;
        }
        seen += hit;
    }
    return (double)seen / (double)series;
}

// Series of RUNS runs without a change that report one: in a look at all of it, and in checks after every run.
static void quiet(enum law law, size_t series, uint64_t seed, size_t *whole, size_t *ever)
{
    *whole = *ever = 0;
    for (size_t i = 0; i < series; i++) {
        size_t at;
        bool cried = false;
        make_series(law, 0, &seed);
        *whole += alarmed(RUNS, RUNS, &at);
        for (size_t run = 7; run <= RUNS && ever && !cried && !getenv("FOVEA_TEST_SMALL"); run++)
            cried = alarmed(run, 20, &at);
        *ever += cried;
    }
}

int main(void)
{
    static const char *const names[] = {"normal", "Student's t of 3 degrees", "spikes (1 run in 20, 4 times)"};
    const uint64_t seed = 20261121;
    for (enum law law = NORMAL; law <= SPIKES; law++) {
        const double ten = found(law, 0.10, 6, 200, seed + law), five = found(law, 0.05, 14, 200, seed + 10 + law);
        size_t whole, ever;
        quiet(law, 400, seed + 20 + law, &whole, &ever);
        printf("%-30s 10 %% within 6 runs: %5.1f %%; 5 %% within 14 runs: %5.1f %%; of 400 quiet series %zu cry, "
               "%zu when checked after each of %d runs\n",
               names[law], 100 * ten, 100 * five, whole, ever, RUNS);
        if (law == NORMAL) {
            CHECK(ten >= 0.95, "a step of 10 %% found in %.1f %%", 100 * ten);
            CHECK(five >= 0.90, "a step of 5 %% found in %.1f %%", 100 * five);
            CHECK(whole <= 2, "%zu false alarms", whole);
        }
        CHECK(whole <= 8, "%zu false alarms, %s", whole, names[law]);
    }
    return test_done();
}
