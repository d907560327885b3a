// SPDX-License-Identifier: Apache-2.0
// tests/page/book.c - made-up histories: runs, series and points in one block of memory.
#include "tests/page/book.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 5, METRICS = 5, FACTS = 8, NAME = 96, FEW = 3, FRESH = 5 };

// Everything of a book; history_book points into it.
struct memory {
    struct history_run *runs;
    struct history_fact *facts;
    struct history_series *series;
    struct history_point *points;
    double *values;
    struct history_acknowledgement *acknowledgements;
    char (*names)[NAME];
    const char **machines, **branches;
    size_t run, fact, one, point, value, acknowledgement, name; // how many are in use
    uint64_t random;
};

static double uniform(struct memory *m)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(m->random >> 11) * 0x1p-53;
}

// Nearly normal: twelve uniform numbers.
static double normal(struct memory *m)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform(m);
    return sum;
}

__attribute__((format(printf, 2, 3))) static const char *name(struct memory *m, const char *format, ...)
{
    va_list args;
    char *const text = m->names[m->name++];
    va_start(args, format);
    vsnprintf(text, NAME, format, args);
    va_end(args);
    return text;
}

static const char nasty[] = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";

static void make_facts(struct memory *m, const struct page_book_shape *shape, struct history_run *run, size_t machine,
                       size_t at)
{
    struct history_fact *const facts = m->facts + m->fact;
    size_t n = 0;
    facts[n++] = (struct history_fact){"compiler", shape->rich && at > shape->runs / 2 ? "gcc 14.2.0" : "gcc 12.2.0"};
    facts[n++] = (struct history_fact){"cpu", machine ? "AMD EPYC 9654" : "Intel Xeon Gold 6240"};
    facts[n++] = (struct history_fact){"isa", "avx512"};
    facts[n++] = (struct history_fact){"l2_bytes", machine ? "1048576" : "1048576"};
    facts[n++] = (struct history_fact){"load", name(m, "%.2f", uniform(m) * 2)};
    if (shape->rich) {
        facts[n++] = (struct history_fact){"peer_0", "OpenBLAS 0.3.21"};
        facts[n++] = (struct history_fact){"peer_1", "oneDNN 2.6"};
    }
    if (shape->nasty)
        facts[n++] = (struct history_fact){"remark", nasty};
    run->facts = facts;
    run->fact_count = n;
    m->fact += n;
}

// Runs go by time, all machines and branches of one moment beside one another.
static void make_runs(struct memory *m, const struct page_book_shape *shape)
{
    const int64_t start = 1735689600, hour = 3600; // 2025-01-01
    for (size_t i = 0; i < shape->runs; i++)
        for (size_t place = 0; place < shape->machines * shape->branches; place++) {
            struct history_run *const run = &m->runs[m->run];
            const uint64_t hash = ((i + 1) * 0x9e3779b97f4a7c15u) ^ 0x5bd1e995u * (place % shape->branches);
            run->id = (int64_t)++m->run;
            run->time = run->measured = start + (int64_t)i * 7 * hour + (int64_t)place;
            run->machine = m->machines[place / shape->branches];
            run->branch = m->branches[place % shape->branches];
            run->commit = name(m, "%016llx%016llx%08x", (unsigned long long)(hash * 0xff51afd7ed558ccdu),
                               (unsigned long long)hash, (unsigned)i);
            make_facts(m, shape, run, place / shape->branches, i);
        }
}

// The true time of a benchmark, as a multiple of its first one.
static double level(size_t benchmark, size_t i, size_t runs, size_t branch)
{
    if (branch && benchmark % 8 == 6 && i + 1 == runs)
        return 1.5;
    if (benchmark % 8 == 1 && i >= runs - runs / 10)
        return 1.12;
    if (benchmark % 8 == 3 && i >= runs - runs / 10)
        return 0.92;
    if (benchmark % 16 == 5 && i >= runs / 3 && i < 2 * runs / 3)
        return 1.15;
    return benchmark % 16 == 13 && i >= runs / 2 ? 1.2 : 1;
}

static const struct {
    const char *name, *unit;
    enum history_better better;
} metrics[METRICS] = {{"instructions", "", HISTORY_LESS},
                      {"of_peak", "", HISTORY_MORE},
                      {"peer", "", HISTORY_NEITHER},
                      {"real_time", "s", HISTORY_LESS},
                      {"vs_best_peer", "", HISTORY_MORE}};

static bool disturbed(size_t benchmark, size_t i, const struct page_book_shape *shape)
{
    return shape->storm || (shape->rich && benchmark % 8 == 2 && (i + 1 == shape->runs || i == shape->runs / 2));
}

static double value_of(struct memory *m, const char *metric, size_t benchmark, size_t i, size_t branch,
                       const struct page_book_shape *shape)
{
    const double time = level(benchmark, i, shape->runs, branch) * (1 + 0.01 * normal(m)) *
                        (disturbed(benchmark, i, shape) ? 1.6 : 1),
                 first = 1e-6 * (double)(1 + benchmark * 37);
    switch (*metric) {
    case 'i':
        return 1e4 * (double)(7 + benchmark) + (benchmark == 6 && i > shape->runs / 2 ? 900 : 0);
    case 'o':
        return (0.7 + 0.002 * (double)(benchmark % 100)) / time;
    case 'p':
        return (double)(benchmark % 2);
    case 'v':
        return (benchmark % 3 ? 1.06 : 0.97) / time;
    default:
        return first * time;
    }
}

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void make_point(struct memory *m, size_t run, const char *metric, size_t benchmark, size_t i, size_t branch,
                       const struct page_book_shape *shape)
{
    double *const values = m->values + m->value, sorted[REPETITIONS];
    const double middle = value_of(m, metric, benchmark, i, branch, shape);
    const bool exact = *metric == 'i' || strcmp(metric, "peer") == 0;
    for (size_t j = 0; j < REPETITIONS; j++)
        sorted[j] = values[j] = exact ? middle : middle * (1 + 0.006 * normal(m));
    qsort(sorted, REPETITIONS, sizeof *sorted, ascending);
    m->points[m->point++] = (struct history_point){run, sorted[REPETITIONS / 2], values, REPETITIONS};
    m->value += REPETITIONS;
}

static void make_series(struct memory *m, const struct page_book_shape *shape, const char *benchmark, size_t index,
                        size_t metric, size_t place)
{
    const size_t places = shape->machines * shape->branches;
    const size_t branch = place % shape->branches;
    const size_t most = shape->rich && index == 0 ? FEW : branch ? FRESH : shape->runs;
    const size_t first = shape->runs > most ? shape->runs - most : 0;
    struct history_series *const s = &m->series[m->one++];
    *s = (struct history_series){.id = (int64_t)m->one,
                                 .benchmark = benchmark,
                                 .metric = metrics[metric].name,
                                 .unit = metrics[metric].unit,
                                 .better = metrics[metric].better,
                                 .machine = m->machines[place / shape->branches],
                                 .branch = m->branches[place % shape->branches],
                                 .points = m->points + m->point};
    const bool exact = *s->metric == 'i';
    for (size_t i = first; i < shape->runs; i++)
        if (exact || !disturbed(index, i, shape))
            make_point(m, i * places + place, s->metric, index, i, branch, shape), s->count++;
    s->disturbed = m->points + m->point;
    for (size_t i = first; i < shape->runs; i++)
        if (!exact && disturbed(index, i, shape))
            make_point(m, i * places + place, s->metric, index, i, branch, shape), s->disturbed_count++;
    if (index % 16 != 13 || first > shape->runs / 2)
        return;
    s->acknowledgements = &m->acknowledgements[m->acknowledgement];
    s->acknowledgement_count = 1;
    m->acknowledgements[m->acknowledgement++] =
        (struct history_acknowledgement){1, m->runs[shape->runs / 2 * places + place].id, shape->runs / 2 - first,
                                         m->runs[0].time, shape->nasty ? nasty : "exact sums cost this"};
}

static bool make_memory(struct memory *m, const struct page_book_shape *shape)
{
    const size_t places = shape->machines * shape->branches, runs = shape->runs * places;
    const size_t series = shape->benchmarks * METRICS * places, points = series * shape->runs;
    m->runs = calloc(runs + 1, sizeof *m->runs);
    m->facts = calloc(runs * FACTS + 1, sizeof *m->facts);
    m->series = calloc(series + 1, sizeof *m->series);
    m->points = calloc(points + 1, sizeof *m->points);
    m->values = calloc(points * REPETITIONS + 1, sizeof *m->values);
    m->acknowledgements = calloc(series + 1, sizeof *m->acknowledgements);
    m->names = calloc(2 * runs + shape->benchmarks + 20, sizeof *m->names);
    m->machines = calloc(shape->machines + 1, sizeof *m->machines);
    m->branches = calloc(shape->branches + 1, sizeof *m->branches);
    return m->runs && m->facts && m->series && m->points && m->values && m->acknowledgements && m->names &&
           m->machines && m->branches;
}

bool page_book_make(struct history_book *book, const struct page_book_shape *shape)
{
    struct memory *const m = calloc(1, sizeof *m);
    *book = (struct history_book){.memory = m};
    if (!m || !make_memory(m, shape)) {
        page_book_free(book);
        return false;
    }
    m->random = 42;
    for (size_t i = 0; i < shape->machines; i++)
        m->machines[i] = shape->nasty ? nasty : name(m, i ? "epyc-%zu" : "xeon-%zu", i + 1);
    for (size_t i = 0; i < shape->branches; i++)
        m->branches[i] = name(m, i ? "topic-%zu" : "main", i);
    make_runs(m, shape);
    for (size_t i = 0; i < shape->benchmarks; i++) {
        const char *const benchmark =
            shape->nasty && i == 1
                ? nasty
                : name(m, "gemm/f32/%s/%zux%zux768", i % 2 ? "packed/nt" : "plain/nn", 16 * (i + 1), 64 * (i % 12 + 1));
        for (size_t j = 0; j < METRICS; j++)
            for (size_t place = 0; (shape->rich || *metrics[j].unit || metrics[j].name[0] == 'o') &&
                                   place < shape->machines * shape->branches;
                 place++)
                make_series(m, shape, benchmark, i, j, place);
    }
    *book = (struct history_book){.machines = m->machines,
                                  .machine_count = shape->machines,
                                  .branches = m->branches,
                                  .branch_count = shape->branches,
                                  .runs = m->runs,
                                  .run_count = m->run,
                                  .series = m->series,
                                  .series_count = m->one,
                                  .memory = m};
    return true;
}

void page_book_free(struct history_book *book)
{
    struct memory *const m = book->memory;
    if (m) {
        free(m->runs);
        free(m->facts);
        free(m->series);
        free(m->points);
        free(m->values);
        free(m->acknowledgements);
        free(m->names);
        free(m->machines);
        free(m->branches);
        free(m);
    }
    *book = (struct history_book){0};
}
