// SPDX-License-Identifier: Apache-2.0
// history/book.c - reads a part of the history into memory, all of it at one moment.
#include "history/book.h"

#include <stdlib.h>

bool book_each(struct book_reading *reading, sqlite3_stmt *statement, book_row *read, void *out)
{
    int status = SQLITE_DONE;
    while (statement && (status = sqlite3_step(statement)) == SQLITE_ROW)
        if (!read(reading, statement, out)) {
            sqlite3_reset(statement);
            return *reading->history->message ? false : history_fail(reading->history, "no memory");
        }
    if (statement)
        sqlite3_reset(statement);
    return statement && (status == SQLITE_DONE || history_fail_sqlite(reading->history, "history"));
}

bool book_damaged(struct book_reading *reading)
{
    return history_fail(reading->history, "history: a damaged database: its tables and indexes disagree");
}

bool book_query(struct book_reading *reading, const char *sql, book_row *read, void *out)
{
    sqlite3_stmt *const statement = history_prepare(reading->history, sql);
    const bool done = book_each(reading, statement, read, out);
    sqlite3_finalize(statement);
    return done;
}

const char *book_column(sqlite3_stmt *row, int column)
{
    const unsigned char *const text = sqlite3_column_text(row, column);
    return text ? (const char *)text : "";
}

const char *book_text(struct book_reading *reading, sqlite3_stmt *row, int column)
{
    return arena_text(&reading->arena, book_column(row, column));
}

size_t book_place(const struct book_reading *reading, sqlite3_stmt *row, int column)
{
    const int64_t id = sqlite3_column_int64(row, column);
    return id >= 0 && (uint64_t)id < reading->place_count ? reading->place[id] : 0;
}

bool book_two(struct book_reading *reading, sqlite3_stmt *row, void *out)
{
    (void)reading;
    int64_t *const two = out;
    two[0] = sqlite3_column_int64(row, 0);
    two[1] = sqlite3_column_int64(row, 1);
    return true;
}

static bool compile(struct book_reading *reading)
{
    const char *const texts[BOOK_EXPRESSIONS] = {reading->filter->benchmark, reading->filter->metric};
    for (int i = 0; i < BOOK_EXPRESSIONS; i++) {
        if (texts[i] && regcomp(&reading->expressions[i], texts[i], REG_EXTENDED | REG_NOSUB) != 0)
            return history_fail(reading->history, "\"%.100s\" is no regular expression", texts[i]);
        reading->compiled[i] = texts[i] != NULL;
    }
    return true;
}

bool history_read(struct history *history, const struct history_filter *filter, struct history_book *book)
{
    struct book_reading reading = {.history = history, .filter = filter, .book = book};
    *book = (struct history_book){0};
    *history->message = '\0'; // of another call
    bool done = compile(&reading) && history_exec(history, "BEGIN");
    if (done) {
        done = book_read_runs(&reading) && book_read_series(&reading);
        sqlite3_exec(history->db, "COMMIT", NULL, NULL, NULL);
    }
    for (int i = 0; i < BOOK_EXPRESSIONS; i++)
        if (reading.compiled[i])
            regfree(&reading.expressions[i]);
    free(reading.place);
    free(reading.disturbed);
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
