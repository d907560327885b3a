// SPDX-License-Identifier: Apache-2.0
// history/page_points.c - all points of a series by run, the disturbed ones among them, and the axes that series share.
#include "history/page_model.h"

#include <stdlib.h>

bool page_join(struct page_series *s)
{
    const struct history_series *const series = s->series;
    size_t own = 0, out = 0;
    s->points = malloc((series->count + series->disturbed_count + 1) * sizeof *s->points);
    if (!s->points)
        return false;
    while (own < series->count || out < series->disturbed_count) {
        const bool disturbed = own == series->count ||
                               (out < series->disturbed_count && series->disturbed[out].run < series->points[own].run);
        s->points[s->count++] = (struct page_point){
            .point = disturbed ? &series->disturbed[out++] : &series->points[own++], .disturbed = disturbed};
    }
    return true;
}

size_t page_place(const struct page_series *s, size_t at)
{
    size_t place = at;
    while (s->points[place].point != &s->series->points[at])
        place++;
    return place;
}

static bool same_runs(const struct page_series *a, const struct page_series *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->points[i].point->run != b->points[i].point->run)
            return false;
    return true;
}

void page_find_axes(struct page *page)
{
    for (size_t i = 0; i < page->book->series_count; i++) {
        struct page_series *const s = &page->series[i];
        size_t axis = page->axis_count; // neighbours mostly have the same runs, so the newest axis is asked first
        while (axis > 0 && !same_runs(s, &page->series[page->axes[axis - 1]]))
            axis--;
        if (axis == 0) {
            page->axes[page->axis_count++] = i;
            axis = page->axis_count;
        }
        s->axis = axis - 1;
    }
}
