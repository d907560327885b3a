// SPDX-License-Identifier: Apache-2.0
// history/page_peers.c - peers' figures by run, and the median of each.
#include "history/page_peers.h"

#include <stdlib.h>
#include <string.h>

// The point of a run, searched from *at on: runs ascend.
static const struct history_point *point_of(const struct history_series *series, size_t run, size_t *at)
{
    while (*at < series->count && series->points[*at].run < run)
        ++*at;
    return *at < series->count && series->points[*at].run == run ? &series->points[*at] : NULL;
}

static int compare(const void *left, const void *right)
{
    const struct page_peer *const a = left, *const b = right;
    const int name = strcmp(a->name, b->name);
    return name ? name : (a->figure > b->figure) - (a->figure < b->figure);
}

// Figures by name, then size: each name's median takes the place of its figures.
static size_t medians(struct page_peer *peers, size_t count)
{
    size_t names = 0;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && strcmp(peers[end].name, peers[first].name) == 0;)
            end++;
        peers[names++] = peers[first + (end - first) / 2];
    }
    return names;
}

size_t page_peers(const struct page *page, const struct page_row *row, const struct page_series *series,
                  struct page_peer *peers)
{
    const struct page_series *const ratio = page_find(page, row, "vs_best_peer");
    const struct page_series *const number = page_find(page, row, "peer");
    if (!series->metric.peer || !ratio || !number)
        return 0;
    size_t count = 0, at_ratio = 0, at_number = 0;
    for (size_t i = 0; i < series->series->count; i++) {
        const struct history_point *const own = &series->series->points[i];
        const struct history_point *const times = point_of(ratio->series, own->run, &at_ratio);
        const struct history_point *const which = point_of(number->series, own->run, &at_number);
        char fact[32];
        snprintf(fact, sizeof fact, "peer_%.0f", which ? which->median : -1);
        const char *const name = page_fact(&page->book->runs[own->run], fact);
        if (!name || !times || !(times->median > 0))
            continue;
        peers[count].name = name;
        peers[count++].figure = series->metric.peer > 0 ? own->median * times->median : own->median / times->median;
    }
    qsort(peers, count, sizeof *peers, compare);
    return medians(peers, count);
}
