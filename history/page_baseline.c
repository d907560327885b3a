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

static void line_up(struct history_series *line, const struct history_series *own, const struct history_series *base,
                    struct lines *free)
{
    size_t before = 0, known = 0;
    while (before < base->count && base->points[before].run < own->points[0].run)
        before++;
    if (before > 0)
        memcpy(free->points, base->points, before * sizeof *free->points);
    memcpy(free->points + before, own->points, own->count * sizeof *free->points);
    for (size_t i = 0; i < base->acknowledgement_count; i++)
        if (base->acknowledgements[i].at < before)
            free->acknowledgements[known++] = base->acknowledgements[i];
    for (size_t i = 0; i < own->acknowledgement_count; i++) {
        free->acknowledgements[known] = own->acknowledgements[i];
        free->acknowledgements[known++].at += before;
    }
    line->points = free->points;
    line->count = before + own->count;
    line->acknowledgements = free->acknowledgements;
    line->acknowledgement_count = known;
    free->points += line->count;
    free->acknowledgements += known;
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
        points += book->series[i].count + (base ? base->count : 0);
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
        if (base)
            line_up(&lines.series[i], own, base, &lines);
    }
    return true;
}

void page_baseline_free(struct history_book *lined)
{
    free(lined->memory);
    *lined = (struct history_book){0};
}
