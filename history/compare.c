// SPDX-License-Identifier: Apache-2.0
// history/compare.c - the repetitions of two runs, figure by figure, as Go's benchstat does it.
#include "history/compare.h"
#include "history/level.h"
#include "history/metric.h"
#include "history/utest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double significant = 0.05;

// The repetitions of a side.
struct side {
    const char *name;
    double *values;
    size_t count;
    size_t disturbed; // points that the book's filter left out
};

static bool is_of(const struct history_run *run, const char *name)
{
    char *end;
    if (*name != '@')
        return strcmp(run->commit, name) == 0;
    return run->id == strtoll(name + 1, &end, 10) && *end == '\0';
}

static bool known(const struct history_book *book, const char *name)
{
    for (size_t i = 0; i < book->run_count; i++)
        if (is_of(&book->runs[i], name))
            return true;
    return false;
}

static bool together(const struct history_series *a, const struct history_series *b, bool across)
{
    return strcmp(a->benchmark, b->benchmark) == 0 && strcmp(a->metric, b->metric) == 0 &&
           (across || strcmp(a->machine, b->machine) == 0);
}

static bool collect(const struct history_book *book, const struct history_series *series, struct side *side)
{
    for (size_t i = 0; i < series->disturbed_count; i++)
        side->disturbed += is_of(&book->runs[series->disturbed[i].run], side->name);
    for (size_t i = 0; i < series->count; i++) {
        const struct history_point *const point = &series->points[i];
        if (!is_of(&book->runs[point->run], side->name))
            continue;
        double *const values = realloc(side->values, (side->count + point->count) * sizeof *values);
        if (!values)
            return false;
        side->values = values;
        memcpy(values + side->count, point->values, point->count * sizeof *values);
        side->count += point->count;
    }
    return true;
}

static struct compare_line judge(const struct history_series *series, struct side *sides, double effect)
{
    struct compare_line line = {.series = series, .counts = {sides[0].count, sides[1].count}, .p = 1};
    line.enough = sides[0].count >= COMPARE_REPETITIONS && sides[1].count >= COMPARE_REPETITIONS;
    if (line.enough)
        line.p = utest(sides[0].values, sides[0].count, sides[1].values, sides[1].count);
    for (int i = 0; i < 2; i++)
        line.medians[i] = level_median(sides[i].values, sides[i].count);
    line.change = line.medians[0] == line.medians[1] ? 0 : line.medians[1] / line.medians[0] - 1; // 0 stays 0
    if (metric_of(series->metric).exact) { // one repetition says it all, and a third of the effect counts
        line.enough = true;
        line.p = line.change != 0 ? 0 : 1;
        effect /= 3;
    }
    if (line.p < significant && fabs(line.change) >= effect && series->better != HISTORY_NEITHER)
        line.verdict = (line.change > 0) == (series->better > 0) ? 1 : -1;
    return line;
}

static int compare_lines(const void *a, const void *b)
{
    const struct compare_line *const x = a, *const y = b;
    const int worse_x = x->verdict < 0, worse_y = y->verdict < 0;
    if (worse_x != worse_y)
        return worse_y - worse_x;
    const double one = fabs(log1p(x->change)), two = fabs(log1p(y->change));
    if (worse_x && one != two)
        return one < two ? 1 : -1;
    const int name = strcmp(x->series->benchmark, y->series->benchmark);
    return name ? name : strcmp(x->series->metric, y->series->metric);
}

static void count(struct compare *compare)
{
    double logs = 0;
    size_t times = 0;
    for (size_t i = 0; i < compare->count; i++) {
        const struct compare_line *const line = &compare->lines[i];
        compare->worse += line->verdict < 0;
        compare->better += line->verdict > 0;
        compare->judged += line->enough && line->series->better != HISTORY_NEITHER;
        if (strcmp(line->series->metric, "real_time") == 0 && line->change > -1 && isfinite(line->change)) {
            logs += log1p(line->change);
            times++;
        }
    }
    compare->geomean = times ? exp(logs / (double)times) : 1;
    if (compare->count)
        qsort(compare->lines, compare->count, sizeof *compare->lines, compare_lines);
}

bool history_compare(const struct history_book *book, const char *const names[2], double effect,
                     struct compare *compare, const char **unknown)
{
    *compare = (struct compare){0};
    *unknown = NULL;
    for (int i = 0; i < 2; i++)
        if (!known(book, names[i])) {
            *unknown = names[i];
            return false;
        }
    const bool across = *names[0] == '@' && *names[1] == '@';
    compare->lines = calloc(book->series_count + 1, sizeof *compare->lines);
    bool done = compare->lines != NULL;
    for (size_t i = 0, next; i < book->series_count && done; i = next) {
        struct side sides[2] = {{.name = names[0]}, {.name = names[1]}};
        for (next = i; next < book->series_count && together(&book->series[i], &book->series[next], across); next++)
            done =
                done && collect(book, &book->series[next], &sides[0]) && collect(book, &book->series[next], &sides[1]);
        if (done && sides[0].count && sides[1].count)
            compare->lines[compare->count++] = judge(&book->series[i], sides, effect);
        else
            compare->disturbed += sides[0].count + sides[0].disturbed > 0 && sides[1].count + sides[1].disturbed > 0;
        free(sides[0].values);
        free(sides[1].values);
    }
    if (done)
        count(compare);
    else
        compare_free(compare);
    return done;
}

void compare_free(struct compare *compare)
{
    free(compare->lines);
    *compare = (struct compare){0};
}
