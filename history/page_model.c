// SPDX-License-Identifier: Apache-2.0
// history/page_model.c - series by benchmark, their changes and verdicts, rows worst first.
#include "history/page_model.h"
#include "bench/stats.h"

#include <stdlib.h>
#include <string.h>

static int compare_place(const struct history_series *a, const struct history_series *b)
{
    const int benchmark = strcmp(a->benchmark, b->benchmark);
    const int machine = benchmark ? benchmark : strcmp(a->machine, b->machine);
    return machine ? machine : strcmp(a->branch, b->branch);
}

static int compare_series(const void *left, const void *right)
{
    const struct page_series *const a = left, *const b = right;
    const int place = compare_place(a->series, b->series);
    if (place)
        return place;
    if (a->metric.rank != b->metric.rank)
        return a->metric.rank < b->metric.rank ? -1 : 1;
    return strcmp(a->series->metric, b->series->metric);
}

// The detector's changes, and a jump of the newest runs that are too few for it.
static bool find_changes(struct page_series *s)
{
    enum { USUAL = 32 };
    size_t room = USUAL;
    s->changes = malloc(room * sizeof *s->changes);
    if (!s->changes)
        return false;
    s->change_count = history_changes(s->series, NULL, s->changes, room - 1);
    if (s->change_count > room - 1) {
        room = s->change_count + 1;
        struct history_change *const more = realloc(s->changes, room * sizeof *more);
        if (!more)
            return false;
        s->changes = more;
        history_changes(s->series, NULL, more, room - 1);
    }
    const size_t begin = s->change_count ? s->changes[s->change_count - 1].at : 0;
    if (s->series->better != HISTORY_NEITHER)
        s->change_count += history_jump(s->series, begin, NULL, &s->changes[s->change_count]);
    return true;
}

// How many times the cost of `before` is `after`.
static double cost_of(enum history_better better, double before, double after)
{
    const double from = better == HISTORY_MORE ? after : before, to = better == HISTORY_MORE ? before : after;
    return from > 0 && to > 0 ? to / from : 1;
}

// A change for the worse stands while half of its loss is still there. Of those that stand and that nobody has
// acknowledged, the one that lost most is shown; a later gain that takes back a part hides none.
static void judge(struct page_series *s, double *work)
{
    const struct history_series *const series = s->series;
    const size_t n = s->change_count;
    for (size_t i = 0; i < series->count; i++)
        work[i] = series->points[i].median;
    s->level = n ? s->changes[n - 1].after : series->count ? bench_quantile(work, series->count, 0.5) : 0;
    s->status = series->count < PAGE_POINTS ? PAGE_FEW : PAGE_STEADY;
    s->cost = 1;
    if (series->better == HISTORY_NEITHER)
        return;
    for (size_t i = 0; i < n; i++) {
        const struct history_change *const change = &s->changes[i];
        const double cost = cost_of(series->better, change->before, s->level);
        const double lost = cost_of(series->better, change->before, change->after) - 1;
        const enum page_status status = change->acknowledged ? PAGE_KNOWN : PAGE_WORSE;
        if (!page_owns(s, change) || !change->worse || cost - 1 < lost / 2 || status > s->status ||
            (status == s->status && cost <= s->cost))
            continue;
        s->status = status;
        s->change = i;
        s->cost = cost;
        s->effect = s->level / change->before - 1;
    }
    const struct history_change *const last = n ? &s->changes[n - 1] : NULL;
    if (s->status == PAGE_STEADY && last && page_owns(s, last) && !last->worse &&
        last->at + PAGE_NEWS >= series->count) {
        s->status = PAGE_BETTER;
        s->change = n - 1;
        s->cost = cost_of(series->better, last->before, s->level);
        s->effect = last->effect;
    }
}

// The leading metric speaks for the row unless another one that is judged is in a worse state.
static void choose_shown(const struct page *page, struct page_row *row)
{
    row->shown = row->first;
    for (size_t i = row->first + 1; i < row->first + row->count; i++) {
        const struct page_series *const a = &page->series[i], *const b = &page->series[row->shown];
        if (!a->metric.judged)
            continue;
        if (a->status < b->status || (a->status == b->status && row->shown != row->first && a->cost > b->cost))
            row->shown = i;
    }
    row->status = page->series[row->shown].status;
    row->cost = page->series[row->shown].cost;
}

static int compare_rows(const void *left, const void *right)
{
    const struct page_row *const a = left, *const b = right;
    if (a->status != b->status)
        return a->status < b->status ? -1 : 1;
    if (a->cost != b->cost)
        return a->cost > b->cost ? -1 : 1;
    return a->first < b->first ? -1 : 1;
}

static void order(struct page *page)
{
    const size_t n = page->book->series_count;
    qsort(page->series, n, sizeof *page->series, compare_series);
    for (size_t i = 0; i < n; i++) {
        struct page_row *row = page->row_count ? &page->rows[page->row_count - 1] : NULL;
        if (!row || compare_place(page->series[row->first].series, page->series[i].series) != 0) {
            row = &page->rows[page->row_count++];
            row->first = i;
        }
        row->count++;
    }
    page_find_axes(page);
    for (size_t i = 0; i < page->row_count; i++)
        choose_shown(page, &page->rows[i]);
    qsort(page->rows, page->row_count, sizeof *page->rows, compare_rows);
    for (size_t i = 0; i < page->row_count; i++)
        for (size_t j = 0; j < page->rows[i].count; j++)
            page->series[page->rows[i].first + j].row = i;
}

bool page_make(struct page *page, const struct history_book *book)
{
    const size_t n = book->series_count;
    *page = (struct page){.book = book};
    page->series = calloc(n + 1, sizeof *page->series);
    page->rows = calloc(n + 1, sizeof *page->rows);
    page->axes = calloc(n + 1, sizeof *page->axes);
    double *const work = malloc((book->run_count + 1) * sizeof *work); // a series has at most one point of a run
    bool ok = page->series && page->rows && page->axes && work;
    for (size_t i = 0; ok && i < n; i++) {
        struct page_series *const s = &page->series[i];
        s->series = &book->series[i];
        s->metric = page_metric(s->series->metric, s->series->unit);
        while (s->fork < s->series->count &&
               strcmp(book->runs[s->series->points[s->fork].run].branch, s->series->branch) != 0)
            s->fork++;
        ok = page_join(s) && find_changes(s);
        if (ok)
            judge(s, work);
    }
    free(work);
    if (!ok) {
        page_free(page);
        return false;
    }
    order(page);
    return true;
}

void page_free(struct page *page)
{
    for (size_t i = 0; page->series && i < page->book->series_count; i++) {
        free(page->series[i].changes);
        free(page->series[i].points);
    }
    free(page->series);
    free(page->rows);
    free(page->axes);
    *page = (struct page){0};
}

const struct page_series *page_find(const struct page *page, const struct page_row *row, const char *metric)
{
    for (size_t i = row->first; i < row->first + row->count; i++)
        if (strcmp(page->series[i].series->metric, metric) == 0)
            return &page->series[i];
    return NULL;
}

bool page_owns(const struct page_series *s, const struct history_change *change)
{
    enum { NEAR = 3 }; // a change may be found so many points early
    return s->fork == 0 || change->at + NEAR > s->fork;
}

bool page_speaks(const struct page *page, const struct page_series *s)
{
    return s->series->better != HISTORY_NEITHER && (s->metric.judged || s == &page->series[page->rows[s->row].first]);
}

const char *page_note(const struct page_series *s, size_t at)
{
    const struct history_acknowledgement *nearest = NULL;
    size_t best = s->series->count;
    for (size_t i = 0; i < s->series->acknowledgement_count; i++) {
        const struct history_acknowledgement *const one = &s->series->acknowledgements[i];
        const size_t away = one->at > at ? one->at - at : at - one->at;
        if (away < best) {
            best = away;
            nearest = one;
        }
    }
    return nearest ? nearest->note : "";
}

const char *page_fact(const struct history_run *run, const char *name)
{
    for (size_t i = 0; i < run->fact_count; i++)
        if (strcmp(run->facts[i].name, name) == 0)
            return run->facts[i].value;
    return NULL;
}
