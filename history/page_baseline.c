// SPDX-License-Identifier: Apache-2.0
// history/page_baseline.c - branches lined up behind their baseline, as fovea history check --baseline judges them.
#include "history/page_baseline.h"

#include <stdlib.h>
#include <string.h>

// All that is made, in one block.
struct lines {
    struct history_series *series;
    struct history_point *points;
    struct history_acknowledgement *acknowledgements;
};

const char *page_baseline_of(const struct history_book *book)
{
    static const char *const usual[] = {"main", "master"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        for (size_t j = 0; j < book->branch_count; j++)
            if (strcmp(book->branches[j], usual[i]) == 0)
                return usual[i];
    return NULL;
}

// Series are sorted by benchmark, metric, machine, branch: the baseline's stands beside those of other branches.
static const struct history_series *base_of(const struct history_book *book, size_t index, const char *baseline)
{
    const struct history_series *const own = &book->series[index];
    size_t first = index;
    while (first > 0 && strcmp(book->series[first - 1].machine, own->machine) == 0 &&
           strcmp(book->series[first - 1].metric, own->metric) == 0 &&
           strcmp(book->series[first - 1].benchmark, own->benchmark) == 0)
        first--;
    for (size_t i = first; i < book->series_count; i++) {
        const struct history_series *const s = &book->series[i];
        if (strcmp(s->machine, own->machine) != 0 || strcmp(s->metric, own->metric) != 0 ||
            strcmp(s->benchmark, own->benchmark) != 0)
            break;
        if (i != index && strcmp(s->branch, baseline) == 0)
            return s;
    }
    return NULL;
}

// The points of a baseline before the run `first`, then the branch's own; returns how many there are of the former.
static size_t join(const struct history_point **points, const struct history_point *base, size_t base_count,
                   const struct history_point *own, size_t own_count, size_t first, struct lines *free)
{
    size_t before = 0;
    while (before < base_count && base[before].run < first)
        before++;
    if (before > 0)
        memcpy(free->points, base, before * sizeof *base);
    if (own_count > 0)
        memcpy(free->points + before, own, own_count * sizeof *own);
    *points = free->points;
    free->points += before + own_count;
    return before;
}

static void line_up(struct history_series *line, const struct history_series *own, const struct history_series *base,
                    struct lines *free)
{
    const size_t first =
        own->disturbed_count && own->disturbed[0].run < own->points[0].run ? own->disturbed[0].run : own->points[0].run;
    size_t known = 0;
    const size_t before = join(&line->points, base->points, base->count, own->points, own->count, first, free);
    const size_t out = join(&line->disturbed, base->disturbed, base->disturbed_count, own->disturbed,
                            own->disturbed_count, first, free);
    for (size_t i = 0; i < base->acknowledgement_count; i++)
        if (base->acknowledgements[i].at < before)
            free->acknowledgements[known++] = base->acknowledgements[i];
    for (size_t i = 0; i < own->acknowledgement_count; i++) {
        free->acknowledgements[known] = own->acknowledgements[i];
        free->acknowledgements[known++].at += before;
    }
    line->count = before + own->count;
    line->disturbed_count = out + own->disturbed_count;
    line->acknowledgements = free->acknowledgements;
    line->acknowledgement_count = known;
    free->acknowledgements += known;
}

static size_t points_of(const struct history_series *series)
{
    return series->count + series->disturbed_count;
}

bool page_baseline(const struct history_book *book, const char *baseline, struct history_book *lined)
{
    *lined = *book;
    lined->memory = NULL;
    if (!baseline || book->series_count == 0)
        return true;
    size_t points = 0, known = 0;
    for (size_t i = 0; i < book->series_count; i++) {
        const struct history_series *const base = base_of(book, i, baseline);
        points += points_of(&book->series[i]) + (base ? points_of(base) : 0);
        known += book->series[i].acknowledgement_count + (base ? base->acknowledgement_count : 0);
    }
    struct lines lines;
    const size_t series_bytes = book->series_count * sizeof *lines.series, point_bytes = points * sizeof *lines.points;
    char *const memory = malloc(series_bytes + point_bytes + known * sizeof *lines.acknowledgements);
    if (!memory)
        return false;
    lines.series = (struct history_series *)memory; // all three are of 8-byte parts
    lines.points = (struct history_point *)(memory + series_bytes);
    lines.acknowledgements = (struct history_acknowledgement *)(memory + series_bytes + point_bytes);
    lined->memory = memory;
    lined->series = lines.series;
    for (size_t i = 0; i < book->series_count; i++) {
        const struct history_series *const own = &book->series[i];
        const struct history_series *const base =
            strcmp(own->branch, baseline) != 0 ? base_of(book, i, baseline) : NULL;
        lines.series[i] = *own;
        if (base && own->count > 0)
            line_up(&lines.series[i], own, base, &lines);
    }
    return true;
}

void page_baseline_free(struct history_book *lined)
{
    free(lined->memory);
    *lined = (struct history_book){0};
}
