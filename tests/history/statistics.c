// SPDX-License-Identifier: Apache-2.0
// tests/history/statistics.c - the statistics against their definitions, dates, odd numbers in JSON, series that do
// not vary, single runs far outside.
#include "history/check.h"
#include "history/energy.h"
#include "history/level.h"
#include "history/report.h"
#include "history/text.h"
#include "history/utest.h"
#include "tests/support/test.h"

// The statistic of every cut from its definition.
static struct energy_cut best_by_definition(const double *x, size_t n, size_t shortest, double cap)
{
    struct energy_cut best = {0, -1};
    for (size_t t = shortest; t + shortest <= n; t++) {
        const double a = (double)t, b = (double)(n - t);
        double across = 0, left = 0, right = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                const double d = fmin(fabs(x[i] - x[j]), cap);
                across += i < t && j >= t ? d : 0;
                left += i < t && j < t ? d : 0;
                right += i >= t && j >= t ? d : 0;
            }
        const double q = a * b / (a + b) * (2 * across / (a * b) - left / (a * a) - right / (b * b));
        if (q > best.q)
            best = (struct energy_cut){t, q};
    }
    return best;
}

static void test_energy(uint64_t *seed)
{
    static struct energy energy;
    for (size_t n = 6; n <= 40; n++) {
        const struct energy_range range = {3, n - 3};
        double x[40];
        for (size_t i = 0; i < n; i++)
            x[i] = test_float(seed) + (i >= n / 3 ? 0.5 : 0);
        for (int capped = 0; capped < 2; capped++) {
            const double cap = capped ? 0.3 : INFINITY;
            energy_make(&energy, x, n, cap);
            const struct energy_cut found = energy_best(&energy, range), expected = best_by_definition(x, n, 3, cap);
            CHECK(found.at == expected.at && fabs(found.q - expected.q) < 1e-5, "n %zu: %zu %g for %zu %g", n, found.at,
                  found.q, expected.at, expected.q);
        }
    }
    const struct energy_range range = {3, 9};
    double step[12], flat[12];
    for (size_t i = 0; i < 12; i++) {
        flat[i] = test_float(seed);
        step[i] = flat[i] * 0.01 + (i >= 6);
    }
    energy_make(&energy, step, 12, INFINITY);
    const double rare = energy_chance(&energy, range, energy_best(&energy, range).q, 999, 1);
    CHECK(rare < 0.02, "a clear step: %g", rare); // 2 of C(12, 6) = 924 orders are cut as well
    const struct energy_range late = {8, 10};     // the step is not among them
    CHECK(energy_best(&energy, late).at == 8, "the nearest: %zu", energy_best(&energy, late).at);
    energy_make(&energy, flat, 12, INFINITY);
    const double common = energy_chance(&energy, range, energy_best(&energy, range).q, 999, 1);
    CHECK(common > 0.02, "no step: %g", common);
    CHECK(energy_chance(&energy, range, 0, 999, 0.01) > 0.01, "stops early");
}

// All ways to choose which of the n values are a's.
static double utest_by_counting(const double *a, size_t m, const double *b, size_t n)
{
    double all[12];
    memcpy(all, a, m * sizeof *a);
    memcpy(all + m, b, n * sizeof *b);
    double wanted = -1;
    size_t as_lopsided = 0, ways = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t chosen = 0; chosen < 1u << (m + n); chosen++) {
            if ((size_t)__builtin_popcount(chosen) != m || (pass == 0 && chosen != (1u << m) - 1))
                continue;
            double u = 0;
            for (size_t i = 0; i < m + n; i++)
                for (size_t j = 0; j < m + n; j++)
                    u += (chosen >> i & 1) && !(chosen >> j & 1) && all[i] < all[j];
            const double away = fabs(u - (double)(m * n) / 2);
            if (pass == 0)
                wanted = away;
            as_lopsided += pass == 1 && away >= wanted;
            ways += pass == 1;
        }
    return (double)as_lopsided / (double)ways;
}

static void test_utest(uint64_t *seed)
{
    for (size_t m = 1; m <= 6; m++)
        for (size_t n = 1; n <= 6; n++) {
            double a[6], b[6];
            for (size_t i = 0; i < 6; i++) {
                a[i] = test_float(seed);
                b[i] = test_float(seed) + 0.5;
            }
            const double found = utest(a, m, b, n), expected = utest_by_counting(a, m, b, n);
            CHECK(fabs(found - expected) < 1e-9, "%zu and %zu: %g for %g", m, n, found, expected);
        }
    const double ties[] = {1, 1, 1, 1, 2}, more[] = {2, 2, 2, 2, 1}, same[] = {1, 1, 1};
    CHECK(utest(same, 3, same, 3) == 1, "all equal");
    CHECK(utest(ties, 5, more, 5) > 0.05 && utest(ties, 5, more, 5) < 0.2, "ties: %g", utest(ties, 5, more, 5));
    CHECK(utest(same, 0, same, 3) == 1, "nothing");
}

static void test_level(uint64_t *seed)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 2, 3}, before[40], after[40];
    CHECK(level_median(odd, 3) == 2 && level_median(even, 4) == 2.5, "medians");
    for (size_t i = 0; i < 40; i++) {
        before[i] = 1 + 0.01 * test_float(seed);
        after[i] = 1.1 + 0.01 * test_float(seed);
    }
    after[7] = 100; // one wild run
    const struct level_step step = level_compare(before, 40, after, 40);
    CHECK(fabs(step.before - 1) < 0.005 && fabs(step.difference - 0.1) < 0.005, "%g %g", step.before, step.difference);
    CHECK(step.low < step.difference && step.high > step.difference && step.high - step.low < 0.02 && step.score > 6,
          "%g to %g, score %g", step.low, step.high, step.score);
    const double one[] = {1, 1}, two[] = {2, 2};
    CHECK(isinf(level_compare(one, 2, two, 2).score), "no noise");
}

static void test_text(void)
{
    static const struct {
        const char *text;
        int64_t seconds; // -1: no date
    } dates[] = {
        {"1970-01-01", 0},
        {"2000-02-29T12:34:56Z", 951827696},
        {"2026-11-21T15:55:07+00:00", 1795276507},
        {"2026-11-21T16:55:07+01:00", 1795276507},
        {"2026-11-21 10:25:07-05:30", 1795276507},
        {"", -1},
        {"yesterday", -1},
        {"2026-13-01", -1},
        {"2026-02-29", -1},
        {"2026-04-31", -1},
        {"2026-11-21T15:55:07+99:00", -1},
        {"2026-11-21T", -1},
        {"2026-11-21T15:55", -1},
        {"2026-11-21T15:55:07+00:00x", -1},
        {"2026-11-21T15:55:07", -1},
    };
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        int64_t seconds = -1;
        const bool is = report_date(dates[i].text, &seconds);
        CHECK(is == (dates[i].seconds >= 0) && (!is || seconds == dates[i].seconds), "%s: %d %lld", dates[i].text, is,
              (long long)seconds);
    }
    static const char odd[] = "{\"NaN\": NaN, \"a\\\"inf\": -inf, \"b\": Infinity, \"c\": \"nan\", \"d\": -NaN}";
    static const char plain[] = "{\"NaN\": null, \"a\\\"inf\": null, \"b\": null, \"c\": \"nan\", \"d\": null}";
    size_t size = sizeof odd - 1;
    char *const made = text_plain_json(odd, &size);
    CHECK(made && size == sizeof plain - 1 && memcmp(made, plain, size) == 0, "%.*s", (int)size, made);
    free(made);
}

enum { RUNS = 40, MANY = 480 }; // MANY: more than a check looks at

// What a check says of a series of these medians.
static struct check check_values(const double *values, size_t count, struct history_series *series,
                                 struct history_book *book)
{
    static struct history_run runs[MANY];
    static struct history_point points[MANY];
    for (size_t i = 0; i < count; i++) {
        runs[i] = (struct history_run){.id = (int64_t)i + 1, .machine = "m", .branch = "main", .commit = "c"};
        points[i] = (struct history_point){.run = i, .median = values[i], .count = 1};
    }
    const struct history_acknowledgement *const known = series->acknowledgements;
    const size_t known_count = series->acknowledgement_count;
    *series = (struct history_series){.id = 1,
                                      .benchmark = "b",
                                      .metric = "instructions",
                                      .unit = "",
                                      .machine = "m",
                                      .branch = "main",
                                      .better = HISTORY_LESS,
                                      .points = points,
                                      .count = count,
                                      .acknowledgements = known,
                                      .acknowledgement_count = known_count};
    *book = (struct history_book){.runs = runs, .run_count = count, .series = series, .series_count = 1};
    const struct check_options options = {.branch = "main", .recent = 20};
    struct check check;
    bool missing;
    CHECK(history_check(book, &options, &check, &missing) && !missing, "check");
    return check;
}

static void test_still_series(void)
{
    double values[RUNS];
    struct history_series series = {0};
    struct history_book book;
    for (size_t i = 0; i < RUNS; i++)
        values[i] = i < 30 ? 45626 : i < 39 ? 44705 : 46000;
    struct check check = check_values(values, RUNS, &series, &book);
    CHECK(check.count == 2 && check.regressions == 1, "%zu of %zu", check.regressions, check.count);
    CHECK(check.findings[0].bad == 39 && check.findings[0].runs == 1 && check.findings[0].change.confidence == 1,
          "the newest run alone: %zu", check.findings[0].bad);
    CHECK(check.findings[1].kind == CHECK_IMPROVEMENT && check.findings[1].bad == 30, "%zu", check.findings[1].bad);
    check_free(&check);
    const struct history_acknowledgement known = {.id = 1, .run = 40, .at = 39, .note = "known"};
    series.acknowledgements = &known;
    series.acknowledgement_count = 1;
    check = check_values(values, RUNS, &series, &book);
    CHECK(check.regressions == 0 && check.count == 2, "acknowledged: %zu", check.regressions);
    check_free(&check);
}

// A count that goes up with every third run: the newest changes are among many, and the oldest runs are left out.
static void test_many_changes(void)
{
    double values[MANY];
    struct history_series series = {0};
    struct history_book book;
    for (size_t i = 0; i < MANY; i++)
        values[i] = 1000 * pow(1.02, (double)(i / 3));
    struct check check = check_values(values, MANY, &series, &book);
    size_t newest = 0;
    for (size_t i = 0; i < check.count; i++)
        newest = check.findings[i].bad > newest ? check.findings[i].bad : newest;
    CHECK(check.regressions == 6 && newest == MANY - 3, "%zu, the newest from run %zu", check.regressions, newest);
    check_free(&check);
}

static void test_jump(uint64_t *seed)
{
    for (int newest = 0; newest < 3; newest++) { // usual, far outside, far outside the better way
        double values[RUNS];
        struct history_series series = {0};
        struct history_book book;
        for (size_t i = 0; i < RUNS; i++)
            values[i] = 1 + 0.02 * test_float(seed);
        values[RUNS - 1] *= newest == 0 ? 1 : newest == 1 ? 1.5 : 0.5;
        struct check check = check_values(values, RUNS, &series, &book);
        CHECK(check.regressions == (newest == 1), "case %d: %zu", newest, check.regressions);
        CHECK(newest != 1 || (check.findings[0].jump && check.findings[0].bad == RUNS - 1), "case %d", newest);
        check_free(&check);
    }
}

static void test_short(void)
{
    const double values[] = {1, 1, 1, 1, 1, 2};
    struct history_series series = {0};
    struct history_book book;
    struct check check = check_values(values, 6, &series, &book);
    CHECK(check.judged == 0 && check.too_short == 1 && check.count == 0, "%zu judged", check.judged);
    check_free(&check);
}

int main(void)
{
    uint64_t seed = 1;
    test_energy(&seed);
    test_utest(&seed);
    test_level(&seed);
    test_text();
    test_still_series();
    test_many_changes();
    test_jump(&seed);
    test_short();
    return test_done();
}
