// SPDX-License-Identifier: Apache-2.0
// history/book_runs.c - the runs of a book in the order of the commit axis, their facts, machines and branches.
#include "history/book.h"

#include <stdlib.h>
#include <string.h>

// A list of names in which each stands once; the runs share its strings.
struct names {
    const char **items;
    size_t count, room;
};

static const char *intern(struct book_reading *reading, struct names *names, const char *name)
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
    size_t count, room;
    size_t *fact_room; // of each run
    struct names machines, branches;
};

static bool read_run(struct book_reading *reading, sqlite3_stmt *row, void *out)
{
    struct runs *const runs = out;
    const char *const machine = book_column(row, 3), *const branch = book_column(row, 4);
    const struct history_filter *const filter = reading->filter;
    const int64_t id = sqlite3_column_int64(row, 0);
    if (id < 0 || id >= BOOK_MOST || (filter->machine && strcmp(filter->machine, machine) != 0) ||
        (filter->branch && strcmp(filter->branch, branch) != 0) ||
        (filter->last && sqlite3_column_int64(row, 6) > (int64_t)filter->last))
        return true;
    if (runs->count == runs->room || (uint64_t)id >= reading->place_count || reading->place[id])
        return book_damaged(reading);
    struct history_run *const run = &runs->items[runs->count++];
    run->id = id;
    run->time = sqlite3_column_int64(row, 1);
    run->measured = sqlite3_column_int64(row, 2);
    run->machine = intern(reading, &runs->machines, machine);
    run->branch = intern(reading, &runs->branches, branch);
    run->commit = book_text(reading, row, 5);
    reading->place[id] = runs->count;
    return run->machine && run->branch && run->commit;
}

// Facts come by run: their count is known when the next run's begin, so they are counted first.
static bool count_fact(struct book_reading *reading, sqlite3_stmt *row, void *out)
{
    struct runs *const runs = out;
    const size_t place = book_place(reading, row, 0);
    if (!place)
        return true;
    struct history_run *const run = &runs->items[place - 1];
    if (run->facts)
        return book_damaged(reading);
    runs->fact_room[place - 1] = (size_t)sqlite3_column_int64(row, 1);
    run->facts = arena_take(&reading->arena, runs->fact_room[place - 1] * sizeof *run->facts);
    return run->facts != NULL;
}

static bool read_fact(struct book_reading *reading, sqlite3_stmt *row, void *out)
{
    struct runs *const runs = out;
    const size_t place = book_place(reading, row, 0);
    if (!place)
        return true;
    struct history_run *const run = &runs->items[place - 1];
    if (run->fact_count == runs->fact_room[place - 1])
        return book_damaged(reading);
    struct history_fact *const fact = (struct history_fact *)&run->facts[run->fact_count++];
    fact->name = book_text(reading, row, 1);
    fact->value = book_text(reading, row, 2);
    return fact->name && fact->value;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool read_all(struct book_reading *reading, struct runs *runs)
{
    return book_query(reading,
                      "SELECT run.id, time, measured, machine.name, branch, commit_name,"
                      " row_number() OVER (PARTITION BY machine, branch ORDER BY time DESC, run.id DESC)"
                      " FROM run JOIN machine ON machine.id = run.machine ORDER BY time, run.id",
                      read_run, runs) &&
           book_query(reading, "SELECT run, count(*) FROM fact GROUP BY run", count_fact, runs) &&
           book_query(reading, "SELECT run, name, value FROM fact ORDER BY run, name", read_fact, runs);
}

bool book_read_runs(struct book_reading *reading)
{
    int64_t counts[2] = {0, 0};
    struct runs runs = {0};
    _Static_assert(BOOK_MOST == 1 << 24, "the ids that this statement counts");
    if (!book_query(reading, "SELECT count(*), coalesce(max(id), 0) + 1 FROM run WHERE id >= 0 AND id < 1 << 24",
                    book_two, counts))
        return false;
    reading->place_count = (size_t)counts[1];
    reading->place = calloc(reading->place_count + 1, sizeof *reading->place);
    runs.room = (size_t)counts[0];
    runs.items = arena_take(&reading->arena, (runs.room + 1) * sizeof *runs.items);
    runs.fact_room = calloc(runs.room + 1, sizeof *runs.fact_room);
    reading->disturbed = calloc(runs.room + 1, sizeof *reading->disturbed);
    const bool room = reading->place && runs.items && runs.fact_room && reading->disturbed;
    const bool done = room ? read_all(reading, &runs) : history_fail(reading->history, "no memory");
    free(runs.fact_room);
    if (!done)
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
