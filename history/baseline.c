// SPDX-License-Identifier: Apache-2.0
// history/baseline.c - finds the baseline of a series, and joins both.
#include "history/baseline.h"

#include <string.h>

static bool same_figure(const struct history_series *a, const struct history_series *b)
{
    return strcmp(a->machine, b->machine) == 0 && strcmp(a->metric, b->metric) == 0 &&
           strcmp(a->benchmark, b->benchmark) == 0;
}

// Series are sorted by benchmark, metric, machine, branch: those of other branches stand beside one.
const struct history_series *baseline_of(const struct history_book *book, size_t index, const char *branch)
{
    const struct history_series *const own = &book->series[index];
    size_t first = index;
    while (first > 0 && same_figure(&book->series[first - 1], own))
        first--;
    for (size_t i = first; i < book->series_count && same_figure(&book->series[i], own); i++)
        if (i != index && strcmp(book->series[i].branch, branch) == 0)
            return &book->series[i];
    return NULL;
}

// How many points lie before a run.
static size_t before_run(const struct history_point *points, size_t count, size_t run)
{
    size_t before = 0;
    while (before < count && points[before].run < run)
        before++;
    return before;
}

// Some of the one behind the others; NULL without memory.
static struct history_point *join(struct arena_block **arena, const struct history_point *base, size_t before,
                                  const struct history_point *own, size_t count)
{
    struct history_point *const points = arena_take(arena, (before + count + 1) * sizeof *points);
    if (points && before > 0)
        memcpy(points, base, before * sizeof *points);
    if (points && count > 0)
        memcpy(points + before, own, count * sizeof *points);
    return points;
}

bool baseline_join(struct arena_block **arena, const struct history_series *base, const struct history_series *own,
                   size_t most, struct history_series *line, size_t *before)
{
    static const struct history_series nothing;
    const struct history_series *const of = base ? base : &nothing;
    const size_t first =
        own->disturbed_count && own->disturbed[0].run < own->points[0].run ? own->disturbed[0].run : own->points[0].run;
    const size_t points = before_run(of->points, of->count, first), all = points + own->count;
    const size_t disturbed = before_run(of->disturbed, of->disturbed_count, first);
    const size_t left_out = all > most ? all - most : 0;
    const struct history_point *const joined = join(arena, of->points, points, own->points, own->count);
    struct history_acknowledgement *const known =
        arena_take(arena, (of->acknowledgement_count + own->acknowledgement_count + 1) * sizeof *known);
    *line = *own;
    line->disturbed = join(arena, of->disturbed, disturbed, own->disturbed, own->disturbed_count);
    line->disturbed_count = disturbed + own->disturbed_count;
    if (!joined || !known || !line->disturbed)
        return false;
    line->points = joined + left_out;
    line->count = all - left_out;
    line->acknowledgements = known;
    line->acknowledgement_count = 0;
    for (size_t i = 0; i < of->acknowledgement_count; i++)
        if (of->acknowledgements[i].at < points) { // places of what is left out wrap around, beyond the end
            known[line->acknowledgement_count] = of->acknowledgements[i];
            known[line->acknowledgement_count++].at -= left_out;
        }
    for (size_t i = 0; i < own->acknowledgement_count; i++) {
        known[line->acknowledgement_count] = own->acknowledgements[i];
        known[line->acknowledgement_count++].at += points - left_out;
    }
    *before = points > left_out ? points - left_out : 0;
    return true;
}
