// SPDX-License-Identifier: Apache-2.0
// history/book.c - reads a part of the history into memory, all of it at one moment.
#include "history/arena.h"
#include "history/database.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPRESSIONS = 2 };

struct reading {
    struct history *history;
    const struct history_filter *filter;
    struct history_book *book;
    struct arena_block *arena;
    size_t *place; // of a run's id in the book, plus 1; 0: not in it
    int64_t ids;   // ids below this
    regex_t expressions[EXPRESSIONS];
    bool compiled[EXPRESSIONS];
};

// One row of a statement at a time.
typedef bool read_row(struct reading *reading, sqlite3_stmt *row, void *out);

static bool each_row(struct reading *reading, sqlite3_stmt *statement, read_row *read, void *out)
{
    int status = SQLITE_DONE;
    while (statement && (status = sqlite3_step(statement)) == SQLITE_ROW)
        if (!read(reading, statement, out)) {
            sqlite3_reset(statement);
            return history_fail(reading->history, "no memory");
        }
    if (statement)
        sqlite3_reset(statement);
    return statement && (status == SQLITE_DONE || history_fail_sqlite(reading->history, "history"));
}

static bool query(struct reading *reading, const char *sql, read_row *read, void *out)
{
    sqlite3_stmt *const statement = history_prepare(reading->history, sql);
    const bool done = each_row(reading, statement, read, out);
    sqlite3_finalize(statement);
    return done;
}

static const char *column(struct reading *reading, sqlite3_stmt *row, int i)
{
    return arena_text(&reading->arena, (const char *)sqlite3_column_text(row, i));
}

// A list of names in which each stands once; the runs share its strings.
struct names {
    const char **items;
    size_t count, room;
};

static const char *intern(struct reading *reading, struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return names->items[i];
    if (names->count == names->room) {
        const char **const items = arena_take(&reading->arena, (2 * names->room + 8) * sizeof *items);
        if (!items)
            return NULL;
        if (names->count)
            memcpy(items, names->items, names->count * sizeof *items);
        names->items = items;
        names->room = 2 * names->room + 8;
    }
    return names->items[names->count++] = arena_text(&reading->arena, name);
}

struct runs {
    struct history_run *items;
    size_t count;
    struct names machines, branches;
};

static bool read_count(struct reading *reading, sqlite3_stmt *row, void *out)
{
    (void)reading;
    int64_t *const counts = out;
    counts[0] = sqlite3_column_int64(row, 0);
    counts[1] = sqlite3_column_int64(row, 1);
    return true;
}

static bool read_run(struct reading *reading, sqlite3_stmt *row, void *out)
{
    struct runs *const runs = out;
    const char *const machine = (const char *)sqlite3_column_text(row, 3);
    const char *const branch = (const char *)sqlite3_column_text(row, 4);
    const struct history_filter *const filter = reading->filter;
    if ((filter->machine && strcmp(filter->machine, machine) != 0) ||
        (filter->branch && strcmp(filter->branch, branch) != 0) ||
        (filter->last && sqlite3_column_int64(row, 6) > (int64_t)filter->last))
        return true;
    struct history_run *const run = &runs->items[runs->count++];
    run->id = sqlite3_column_int64(row, 0);
    run->time = sqlite3_column_int64(row, 1);
    run->measured = sqlite3_column_int64(row, 2);
    run->machine = intern(reading, &runs->machines, machine);
    run->branch = intern(reading, &runs->branches, branch);
    run->commit = column(reading, row, 5);
    reading->place[run->id] = runs->count;
    return run->machine && run->branch && run->commit;
}

// Facts come by run: their count is known when the next run's begin, so they are counted first.
static bool count_fact(struct reading *reading, sqlite3_stmt *row, void *out)
{
    struct runs *const runs = out;
    const size_t place = reading->place[sqlite3_column_int64(row, 0)];
    if (!place)
        return true;
    struct history_run *const run = &runs->items[place - 1];
    run->facts = arena_take(&reading->arena, (size_t)sqlite3_column_int64(row, 1) * sizeof *run->facts);
    return run->facts != NULL;
}

static bool read_fact(struct reading *reading, sqlite3_stmt *row, void *out)
{
    struct runs *const runs = out;
    const size_t place = reading->place[sqlite3_column_int64(row, 0)];
    if (!place)
        return true;
    struct history_run *const run = &runs->items[place - 1];
    struct history_fact *const fact = (struct history_fact *)&run->facts[run->fact_count++];
    fact->name = column(reading, row, 1);
    fact->value = column(reading, row, 2);
    return fact->name && fact->value;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool read_runs(struct reading *reading)
{
    int64_t counts[2] = {0, 0};
    struct runs runs = {0};
    if (!query(reading, "SELECT count(*), coalesce(max(id), 0) + 1 FROM run", read_count, counts))
        return false;
    reading->ids = counts[1];
    reading->place = calloc((size_t)reading->ids + 1, sizeof *reading->place);
    runs.items = arena_take(&reading->arena, ((size_t)counts[0] + 1) * sizeof *runs.items);
    if (!reading->place || !runs.items)
        return history_fail(reading->history, "no memory");
    if (!query(reading,
               "SELECT run.id, time, measured, machine.name, branch, commit_name,"
               " row_number() OVER (PARTITION BY machine, branch ORDER BY time DESC, run.id DESC)"
               " FROM run JOIN machine ON machine.id = run.machine ORDER BY time, run.id",
               read_run, &runs) ||
        !query(reading, "SELECT run, count(*) FROM fact GROUP BY run", count_fact, &runs) ||
        !query(reading, "SELECT run, name, value FROM fact ORDER BY run, name", read_fact, &runs))
        return false;
    if (runs.machines.count)
        qsort(runs.machines.items, runs.machines.count, sizeof *runs.machines.items, compare_names);
    if (runs.branches.count)
        qsort(runs.branches.items, runs.branches.count, sizeof *runs.branches.items, compare_names);
    struct history_book *const book = reading->book;
    book->runs = runs.items;
    book->run_count = runs.count;
    book->machines = runs.machines.items;
    book->machine_count = runs.machines.count;
    book->branches = runs.branches.items;
    book->branch_count = runs.branches.count;
    return true;
}

struct all_series {
    struct history_series *items;
    size_t count;
    sqlite3_stmt *count_points, *points, *samples, *acknowledgements;
};

static bool read_point(struct reading *reading, sqlite3_stmt *row, void *out)
{
    struct history_series *const series = out;
    const size_t place = reading->place[sqlite3_column_int64(row, 0)];
    if (place)
        *(struct history_point *)&series->points[series->count++] = (struct history_point){
            .run = place - 1, .median = sqlite3_column_double(row, 1), .count = (size_t)sqlite3_column_int64(row, 2)};
    return true;
}

static int compare_points(const void *a, const void *b)
{
    const struct history_point *const x = a, *const y = b;
    return (x->run > y->run) - (x->run < y->run);
}

// Samples come by run's id and repetition, points stand by time: `at` finds the point of a place.
struct sampling {
    struct history_point **at;
    double *next;
};

static bool read_sample(struct reading *reading, sqlite3_stmt *row, void *out)
{
    struct sampling *const sampling = out;
    const size_t place = reading->place[sqlite3_column_int64(row, 0)];
    if (!place)
        return true;
    struct history_point *const point = sampling->at[place - 1];
    if (!point->values)
        point->values = sampling->next;
    *sampling->next++ = sqlite3_column_double(row, 1);
    return true;
}

static bool read_samples(struct reading *reading, sqlite3_stmt *statement, const struct history_series *series)
{
    size_t total = 0;
    struct sampling sampling = {.at = calloc(reading->book->run_count + 1, sizeof *sampling.at)};
    for (size_t i = 0; sampling.at && i < series->count; i++) {
        sampling.at[series->points[i].run] = (struct history_point *)&series->points[i];
        total += series->points[i].count;
    }
    sampling.next = arena_take(&reading->arena, total * sizeof *sampling.next);
    const bool done = sampling.at && sampling.next ? each_row(reading, statement, read_sample, &sampling)
                                                   : history_fail(reading->history, "no memory");
    free(sampling.at);
    return done;
}

static bool read_acknowledgement(struct reading *reading, sqlite3_stmt *row, void *out)
{
    struct history_series *const series = out;
    struct history_acknowledgement *const all =
        arena_take(&reading->arena, (series->acknowledgement_count + 1) * sizeof *all);
    if (!all)
        return false;
    if (series->acknowledgement_count)
        memcpy(all, series->acknowledgements, series->acknowledgement_count * sizeof *all);
    const int64_t run = sqlite3_column_int64(row, 1);
    size_t at = 0;
    while (at < series->count && series->points[at].run + 1 != reading->place[run])
        at++;
    all[series->acknowledgement_count++] = (struct history_acknowledgement){
        sqlite3_column_int64(row, 0), run, at, sqlite3_column_int64(row, 2), column(reading, row, 3)};
    series->acknowledgements = all;
    return all[series->acknowledgement_count - 1].note != NULL;
}

static bool wanted(const struct reading *reading, sqlite3_stmt *row)
{
    const struct history_filter *const filter = reading->filter;
    if ((filter->machine && strcmp(filter->machine, (const char *)sqlite3_column_text(row, 4)) != 0) ||
        (filter->branch && strcmp(filter->branch, (const char *)sqlite3_column_text(row, 5)) != 0))
        return false;
    for (int i = 0; i < EXPRESSIONS; i++)
        if (reading->compiled[i] &&
            regexec(&reading->expressions[i], (const char *)sqlite3_column_text(row, 1 + i), 0, NULL, 0) != 0)
            return false;
    return true;
}

static bool read_series(struct reading *reading, sqlite3_stmt *row, void *out)
{
    struct all_series *const all = out;
    if (!wanted(reading, row))
        return true;
    struct history_series *const series = &all->items[all->count];
    *series = (struct history_series){.id = sqlite3_column_int64(row, 0),
                                      .benchmark = column(reading, row, 1),
                                      .metric = column(reading, row, 2),
                                      .unit = column(reading, row, 3),
                                      .machine = column(reading, row, 4),
                                      .branch = column(reading, row, 5),
                                      .better = (enum history_better)sqlite3_column_int(row, 6)};
    int64_t counts[2] = {0, 0};
    sqlite3_stmt *const statements[] = {all->count_points, all->points, all->samples, all->acknowledgements};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        sqlite3_bind_int64(statements[i], 1, series->id);
    if (!series->benchmark || !series->metric || !series->unit || !series->machine || !series->branch ||
        !each_row(reading, all->count_points, read_count, counts))
        return false;
    series->points = arena_take(&reading->arena, ((size_t)counts[0] + 1) * sizeof *series->points);
    if (!series->points || !each_row(reading, all->points, read_point, series))
        return false;
    if (series->count == 0)
        return true;
    qsort((void *)series->points, series->count, sizeof *series->points, compare_points);
    all->count++;
    return (!reading->filter->repetitions || read_samples(reading, all->samples, series)) &&
           each_row(reading, all->acknowledgements, read_acknowledgement, series);
}

static bool read_all_series(struct reading *reading)
{
    int64_t counts[2] = {0, 0};
    struct history *const history = reading->history;
    if (!query(reading, "SELECT count(*), 0 FROM series", read_count, counts))
        return false;
    struct all_series all = {
        .items = arena_take(&reading->arena, ((size_t)counts[0] + 1) * sizeof *all.items),
        .count_points = history_prepare(history, "SELECT count(*), 0 FROM point WHERE series = ?"),
        .points = history_prepare(history, "SELECT run, median, count FROM point WHERE series = ?"),
        .samples = history_prepare(history, "SELECT run, value FROM sample WHERE series = ? ORDER BY run, repetition"),
        .acknowledgements =
            history_prepare(history, "SELECT id, run, time, note FROM acknowledgement WHERE series = ? ORDER BY id"),
    };
    bool done = all.items && all.count_points && all.points && all.samples && all.acknowledgements;
    if (done)
        done = query(reading,
                     "SELECT series.id, benchmark, metric, unit, machine.name, branch, better FROM series"
                     " JOIN machine ON machine.id = series.machine ORDER BY benchmark, metric, machine.name, branch",
                     read_series, &all);
    sqlite3_finalize(all.count_points);
    sqlite3_finalize(all.points);
    sqlite3_finalize(all.samples);
    sqlite3_finalize(all.acknowledgements);
    reading->book->series = all.items;
    reading->book->series_count = all.count;
    return done;
}

static bool compile(struct reading *reading)
{
    const char *const texts[EXPRESSIONS] = {reading->filter->benchmark, reading->filter->metric};
    for (int i = 0; i < EXPRESSIONS; i++) {
        if (texts[i] && regcomp(&reading->expressions[i], texts[i], REG_EXTENDED | REG_NOSUB) != 0)
            return history_fail(reading->history, "\"%.100s\" is no regular expression", texts[i]);
        reading->compiled[i] = texts[i] != NULL;
    }
    return true;
}

bool history_read(struct history *history, const struct history_filter *filter, struct history_book *book)
{
    struct reading reading = {.history = history, .filter = filter, .book = book};
    *book = (struct history_book){0};
    bool done = compile(&reading) && history_exec(history, "BEGIN");
    if (done) {
        done = read_runs(&reading) && read_all_series(&reading);
        sqlite3_exec(history->db, "COMMIT", NULL, NULL, NULL);
    }
    for (int i = 0; i < EXPRESSIONS; i++)
        if (reading.compiled[i])
            regfree(&reading.expressions[i]);
    free(reading.place);
    book->memory = reading.arena;
    if (!done)
        history_book_free(book);
    return done;
}

void history_book_free(struct history_book *book)
{
    arena_free(book->memory);
    *book = (struct history_book){0};
}
