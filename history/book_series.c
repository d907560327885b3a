// SPDX-License-Identifier: Apache-2.0
// history/book_series.c - the series of a book: points by run, repetitions, acknowledgements.
#include "history/book.h"
#include "history/metric.h"

#include <stdlib.h>
#include <string.h>

struct all_series {
    struct history_series *items;
    size_t count, room;
    sqlite3_stmt *count_points, *points, *disturbed, *samples, *acknowledgements;
};

static bool mark_disturbed(struct book_reading *reading, sqlite3_stmt *row, void *out)
{
    const struct history_series *const series = out;
    const size_t place = book_place(reading, row, 0);
    if (place)
        reading->disturbed[place - 1] = series->id;
    return true;
}

// The points of a series, and how many there is room for.
struct points {
    struct history_series *series;
    size_t room;
};

// A point that is no figure, or of a count that no point has, is passed over.
static bool read_point(struct book_reading *reading, sqlite3_stmt *row, void *out)
{
    const struct points *const points = out;
    struct history_series *const series = points->series;
    const size_t place = book_place(reading, row, 0);
    const double median = sqlite3_column_double(row, 1);
    const int64_t count = sqlite3_column_int64(row, 2);
    if (!place || !metric_is_figure(median) || count <= 0 || count >= BOOK_MOST)
        return true;
    if (series->count + series->disturbed_count == points->room)
        return book_damaged(reading);
    const bool disturbed = series->disturbed && reading->disturbed[place - 1] == series->id;
    const struct history_point *const point =
        disturbed ? &series->disturbed[series->disturbed_count++] : &series->points[series->count++];
    *(struct history_point *)point = (struct history_point){.run = place - 1, .median = median, .count = (size_t)count};
    return true;
}

static int compare_points(const void *a, const void *b)
{
    const struct history_point *const x = a, *const y = b;
    return (x->run > y->run) - (x->run < y->run);
}

// In the order of their runs; false where a run has two.
static bool sort_points(const struct history_point *points, size_t count)
{
    if (count > 0)
        qsort((void *)points, count, sizeof *points, compare_points);
    for (size_t i = 1; i < count; i++)
        if (points[i - 1].run == points[i].run)
            return false;
    return true;
}

// Whose samples are read: the point of each run, by its place in the book.
struct sampling {
    struct history_point **at;
};

// A repetition that its point does not count, or that is no figure, is passed over.
static bool read_sample(struct book_reading *reading, sqlite3_stmt *row, void *out)
{
    const struct sampling *const sampling = out;
    const size_t place = book_place(reading, row, 0);
    const struct history_point *const point = place ? sampling->at[place - 1] : NULL;
    const int64_t repetition = sqlite3_column_int64(row, 1);
    const double value = sqlite3_column_double(row, 2);
    if (point && repetition >= 0 && (uint64_t)repetition < point->count && metric_is_figure(value))
        ((double *)point->values)[repetition] = value;
    return true;
}

// Makes room for the samples of points, and notes where these are.
static bool place_points(struct book_reading *reading, struct sampling *sampling, const struct history_point *points,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct history_point *const point = (struct history_point *)&points[i];
        if (point->count <= SIZE_MAX / sizeof *point->values)
            point->values = arena_take(&reading->arena, point->count * sizeof *point->values);
        if (!point->values)
            return false;
        sampling->at[point->run] = point;
    }
    return true;
}

static bool read_samples(struct book_reading *reading, sqlite3_stmt *statement, const struct history_series *series)
{
    struct sampling sampling = {.at = calloc(reading->book->run_count + 1, sizeof *sampling.at)};
    const bool placed = sampling.at && place_points(reading, &sampling, series->points, series->count) &&
                        place_points(reading, &sampling, series->disturbed, series->disturbed_count);
    const bool done =
        placed ? book_each(reading, statement, read_sample, &sampling) : history_fail(reading->history, "no memory");
    free(sampling.at);
    return done;
}

static bool read_acknowledgement(struct book_reading *reading, sqlite3_stmt *row, void *out)
{
    struct history_series *const series = out;
    struct history_acknowledgement *const all =
        arena_take(&reading->arena, (series->acknowledgement_count + 1) * sizeof *all);
    if (!all)
        return false;
    if (series->acknowledgement_count)
        memcpy(all, series->acknowledgements, series->acknowledgement_count * sizeof *all);
    const int64_t run = sqlite3_column_int64(row, 1);
    const size_t place = book_place(reading, row, 1);
    size_t at = place ? 0 : series->count;
    while (at < series->count && series->points[at].run + 1 < place) // its own may be left out
        at++;
    all[series->acknowledgement_count++] = (struct history_acknowledgement){
        sqlite3_column_int64(row, 0), run, at, sqlite3_column_int64(row, 2), book_text(reading, row, 3)};
    series->acknowledgements = all;
    return all[series->acknowledgement_count - 1].note != NULL;
}

static bool wanted(const struct book_reading *reading, sqlite3_stmt *row)
{
    const struct history_filter *const filter = reading->filter;
    if ((filter->machine && strcmp(filter->machine, book_column(row, 4)) != 0) ||
        (filter->branch && strcmp(filter->branch, book_column(row, 5)) != 0))
        return false;
    for (int i = 0; i < BOOK_EXPRESSIONS; i++)
        if (reading->compiled[i] && regexec(&reading->expressions[i], book_column(row, 1 + i), 0, NULL, 0) != 0)
            return false;
    return true;
}

static bool read_series(struct book_reading *reading, sqlite3_stmt *row, void *out)
{
    struct all_series *const all = out;
    if (!wanted(reading, row))
        return true;
    if (all->count == all->room)
        return book_damaged(reading);
    struct history_series *const series = &all->items[all->count];
    const int better = sqlite3_column_int(row, 6);
    *series = (struct history_series){.id = sqlite3_column_int64(row, 0),
                                      .benchmark = book_text(reading, row, 1),
                                      .metric = book_text(reading, row, 2),
                                      .unit = book_text(reading, row, 3),
                                      .machine = book_text(reading, row, 4),
                                      .branch = book_text(reading, row, 5),
                                      .better = (enum history_better)((better > 0) - (better < 0))};
    int64_t counts[2] = {0, 0};
    sqlite3_stmt *const statements[] = {all->count_points, all->points, all->disturbed, all->samples,
                                        all->acknowledgements};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        sqlite3_bind_int64(statements[i], 1, series->id);
    if (!series->benchmark || !series->metric || !series->unit || !series->machine || !series->branch ||
        !book_each(reading, all->count_points, book_two, counts))
        return false;
    series->points = arena_take(&reading->arena, ((size_t)counts[0] + 1) * sizeof *series->points);
    if (reading->filter->calm && !metric_of(series->metric).exact) {
        series->disturbed = arena_take(&reading->arena, ((size_t)counts[0] + 1) * sizeof *series->disturbed);
        if (!series->disturbed || !book_each(reading, all->disturbed, mark_disturbed, series))
            return false;
    }
    struct points points = {series, (size_t)counts[0]};
    if (!series->points || !book_each(reading, all->points, read_point, &points))
        return false;
    if (series->count + series->disturbed_count == 0)
        return true;
    if (!sort_points(series->points, series->count) || !sort_points(series->disturbed, series->disturbed_count))
        return book_damaged(reading);
    all->count++;
    return (!reading->filter->repetitions || read_samples(reading, all->samples, series)) &&
           book_each(reading, all->acknowledgements, read_acknowledgement, series);
}

// The runs in which the remarks of the bench (bench/race.h) call a series' benchmark disturbed.
static const char disturbed[] =
    "SELECT point.run FROM series me JOIN series remark ON remark.benchmark = me.benchmark"
    " AND remark.metric IN ('calm', 'stolen') AND remark.machine = me.machine AND remark.branch = me.branch"
    " JOIN point ON point.series = remark.id"
    " WHERE me.id = ? AND CASE remark.metric WHEN 'calm' THEN median <= 0 ELSE median > 0.1 END";

bool book_read_series(struct book_reading *reading)
{
    int64_t counts[2] = {0, 0};
    struct history *const history = reading->history;
    if (!book_query(reading, "SELECT count(*), 0 FROM series", book_two, counts))
        return false;
    struct all_series all = {
        .items = arena_take(&reading->arena, ((size_t)counts[0] + 1) * sizeof *all.items),
        .room = (size_t)counts[0],
        .count_points = history_prepare(history, "SELECT count(*), 0 FROM point WHERE series = ?"),
        .points = history_prepare(history, "SELECT run, median, count FROM point WHERE series = ?"),
        .disturbed = history_prepare(history, disturbed),
        .samples = history_prepare(history, "SELECT run, repetition, value FROM sample WHERE series = ?"),
        .acknowledgements =
            history_prepare(history, "SELECT id, run, time, note FROM acknowledgement WHERE series = ? ORDER BY id"),
    };
    bool done = all.items && all.count_points && all.points && all.disturbed && all.samples && all.acknowledgements;
    if (done)
        done =
            book_query(reading,
                       "SELECT series.id, benchmark, metric, unit, machine.name, branch, better FROM series"
                       " JOIN machine ON machine.id = series.machine ORDER BY benchmark, metric, machine.name, branch",
                       read_series, &all);
    sqlite3_finalize(all.count_points);
    sqlite3_finalize(all.points);
    sqlite3_finalize(all.disturbed);
    sqlite3_finalize(all.samples);
    sqlite3_finalize(all.acknowledgements);
    reading->book->series = all.items;
    reading->book->series_count = all.count;
    return done;
}
