// SPDX-License-Identifier: Apache-2.0
// history/page_data.c - the JSON in the page: axes, metrics, series and rows.
#include "history/page_data.h"
#include "history/page_band.h"
#include "history/page_pack.h"
#include "history/page_peers.h"

#include <stdlib.h>
#include <string.h>

static size_t metric_index(const struct page *page, const size_t *metrics, size_t count, const struct page_series *s)
{
    for (size_t i = 0; i < count; i++) {
        const struct history_series *const other = page->series[metrics[i]].series;
        if (strcmp(other->metric, s->series->metric) == 0 && strcmp(other->unit, s->series->unit) == 0 &&
            other->better == s->series->better)
            return i;
    }
    return count;
}

// Writes the metrics and says which series stand for them.
static size_t write_metrics(FILE *file, const struct page *page, size_t *metrics)
{
    size_t count = 0;
    fputs(",\n\"metrics\":[", file);
    for (size_t i = 0; i < page->book->series_count; i++) {
        const struct page_series *const s = &page->series[i];
        if (metric_index(page, metrics, count, s) < count)
            continue;
        fputs(count ? "," : "", file);
        metrics[count++] = i;
        fputs("{\"name\":", file);
        page_json(file, s->series->metric);
        fputs(",\"label\":", file);
        page_json(file, s->metric.label);
        fputs(",\"unit\":", file);
        page_json(file, s->series->unit);
        fprintf(file, ",\"kind\":%d,\"better\":%d}", s->metric.kind, s->series->better);
    }
    fputs("]", file);
    return count;
}

static void write_axes(FILE *file, const struct page *page)
{
    fputs(",\n\"axes\":[", file);
    for (size_t i = 0; i < page->axis_count; i++) {
        const struct page_series *const s = &page->series[page->axes[i]];
        fputs(i ? "," : "", file);
        struct page_pack pack = page_pack_begin(file, 1);
        for (size_t j = 0; j < s->count; j++)
            page_pack_add(&pack, (double)s->points[j].point->run);
        page_pack_end(&pack);
    }
    fputs("]", file);
}

static void write_changes(FILE *file, const struct page_series *s)
{
    fputs(",\"changes\":[", file);
    for (size_t i = 0; i < s->change_count; i++) {
        const struct history_change *const c = &s->changes[i];
        fprintf(file, "%s[%zu,%.9g,%.9g,%.5g,%.5g,%.5g,%.6g,%d,", i ? "," : "", page_place(s, c->at), c->before,
                c->after, c->effect, c->low, c->high, c->confidence, c->worse);
        if (c->acknowledged)
            page_json(file, page_note(s, c->at));
        else
            fputs("null", file);
        fputs("]", file);
    }
    fputs("]", file);
}

// Memory for the longest series: values, distances below and above, their order, peers.
struct room {
    double *value, *low, *high, *work;
    struct page_peer *peers;
};

static void write_column(FILE *file, const char *name, const double *values, size_t n, double step)
{
    fprintf(file, ",\"%s\":", name);
    struct page_pack pack = page_pack_begin(file, step);
    for (size_t i = 0; i < n; i++)
        page_pack_add(&pack, values[i]);
    page_pack_end(&pack);
}

static void write_values(FILE *file, const struct page_series *s, struct room *room)
{
    const size_t n = s->count;
    bool bands = false;
    for (size_t i = 0; i < n; i++) {
        const struct history_point *const point = s->points[i].point;
        const struct page_band band = page_band(point, room->work);
        room->value[i] = point->median;
        room->low[i] = point->median - band.low;
        room->high[i] = band.high - point->median;
        bands |= band.low < band.high;
    }
    const double step = page_pack_step(room->value, n, room->work);
    fprintf(file, ",\"step\":%.17g", step);
    write_column(file, "value", room->value, n, step);
    if (bands) {
        write_column(file, "low", room->low, n, step * PAGE_BAND_STEPS);
        write_column(file, "high", room->high, n, step * PAGE_BAND_STEPS);
    }
}

static void write_disturbed(FILE *file, const struct page_series *s)
{
    fputs(",\"disturbed\":", file);
    struct page_pack pack = page_pack_begin(file, 1);
    for (size_t i = 0; i < s->count; i++)
        if (s->points[i].disturbed)
            page_pack_add(&pack, (double)i);
    page_pack_end(&pack);
}

static void write_series(FILE *file, const struct page *page, const struct page_row *row, size_t metric,
                         const struct page_series *s, struct room *room)
{
    fprintf(file, "{\"metric\":%zu,\"axis\":%zu", metric, s->axis);
    write_values(file, s, room);
    if (s->series->disturbed_count)
        write_disturbed(file, s);
    if (s->change_count)
        write_changes(file, s);
    const size_t peers = page_peers(page, row, s, room->peers);
    fputs(peers ? ",\"peers\":[" : "", file);
    for (size_t i = 0; i < peers; i++) {
        fputs(i ? ",[" : "[", file);
        page_json(file, room->peers[i].name);
        fprintf(file, ",%.6g]", room->peers[i].figure);
    }
    fputs(peers ? "]}" : "}", file);
}

static size_t name_index(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i;
}

static void write_rows(FILE *file, const struct page *page)
{
    const struct history_book *const book = page->book;
    fputs("],\n\"rows\":[", file);
    for (size_t i = 0; i < page->row_count; i++) {
        const struct page_row *const row = &page->rows[i];
        const struct history_series *const series = page->series[row->first].series;
        fputs(i ? ",\n{\"benchmark\":" : "\n{\"benchmark\":", file);
        page_json(file, series->benchmark);
        fprintf(file, ",\"machine\":%zu,\"branch\":%zu,\"first\":%zu,\"count\":%zu,\"shown\":%zu}",
                name_index(book->machines, book->machine_count, series->machine),
                name_index(book->branches, book->branch_count, series->branch), row->first, row->count, row->shown);
    }
    fputs("]", file);
}

static void write_names(FILE *file, const char *what, const char *const *names, size_t count)
{
    fprintf(file, "\"%s\":[", what);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? "," : "", file);
        page_json(file, names[i]);
    }
    fputs("],\n", file);
}

// Room for the longest series; a band is worked out in `work`, so it holds the most repetitions too.
static bool make_room(const struct page *page, struct room *room)
{
    size_t points = 1, work = 1;
    for (size_t i = 0; i < page->book->series_count; i++) {
        const struct page_series *const s = &page->series[i];
        points = s->count > points ? s->count : points;
        for (size_t j = 0; j < s->count; j++)
            work = s->points[j].point->count > work ? s->points[j].point->count : work;
    }
    work = points > work ? points : work;
    room->value = malloc((3 * points + work) * sizeof *room->value);
    room->peers = malloc(points * sizeof *room->peers);
    if (!room->value || !room->peers)
        return false;
    room->low = room->value + points;
    room->high = room->low + points;
    room->work = room->high + points;
    return true;
}

bool page_write_data(FILE *file, const struct page *page)
{
    const struct history_book *const book = page->book;
    struct room room = {0};
    size_t *const metrics = malloc((book->series_count + 1) * sizeof *metrics);
    bool ok = metrics && make_room(page, &room);
    if (ok) {
        fputs("{\n", file);
        write_names(file, "machines", book->machines, book->machine_count);
        write_names(file, "branches", book->branches, book->branch_count);
        ok = page_write_runs(file, book);
    }
    if (ok) {
        const size_t count = write_metrics(file, page, metrics);
        write_axes(file, page);
        fputs(",\n\"series\":[", file);
        for (size_t i = 0; i < book->series_count; i++) {
            const struct page_series *const s = &page->series[i];
            fputs(i ? ",\n" : "\n", file);
            write_series(file, page, &page->rows[s->row], metric_index(page, metrics, count, s), s, &room);
        }
        write_rows(file, page);
        fputs("}", file);
    }
    free(metrics);
    free(room.value);
    free(room.peers);
    return ok;
}
