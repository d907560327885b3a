// SPDX-License-Identifier: Apache-2.0
// history/book.h - what the readers of a book share: the rows of a statement, and the memory of what is read.
#ifndef FOVEA_HISTORY_BOOK_H
#define FOVEA_HISTORY_BOOK_H

#include "history/arena.h"
#include "history/database.h"

#include <regex.h>

enum { BOOK_EXPRESSIONS = 2 }; ///< of the benchmark and of the metric
/// Ids of runs and counts of repetitions are below this: memory is taken by them, and a damaged one may be anything.
enum { BOOK_MOST = 1 << 24 };

struct book_reading {
    struct history *history;
    const struct history_filter *filter;
    struct history_book *book;
    struct arena_block *arena;
    size_t *place;      ///< of a run's id in the book, plus 1; 0: not in it
    size_t place_count; ///< ids below it
    int64_t *disturbed; ///< of each run of the book: the series that was last found disturbed in it
    regex_t expressions[BOOK_EXPRESSIONS];
    bool compiled[BOOK_EXPRESSIONS];
};

/// Takes one row. False with history_message set, or without memory.
typedef bool book_row(struct book_reading *reading, sqlite3_stmt *row, void *out);
/// Steps through a statement (NULL fails), and resets it. False with history_message set.
bool book_each(struct book_reading *reading, sqlite3_stmt *statement, book_row *read, void *out);
/// Prepares SQL and steps through it.
bool book_query(struct book_reading *reading, const char *sql, book_row *read, void *out);
/// A row of two integers. out: int64_t[2].
book_row book_two;
/// Says that there are more rows than were counted, or one of them twice: some come from a table, some from its index,
/// which in a damaged database need not agree. Returns false.
bool book_damaged(struct book_reading *reading);
/// A column's text until the next row; "" where it has none, which the schema forbids and a damaged database may have.
const char *book_column(sqlite3_stmt *row, int column);
/// A copy of it; NULL without memory.
const char *book_text(struct book_reading *reading, sqlite3_stmt *row, int column);

/// The place of the run that a column names, plus 1; 0 where it is not in the book, or there is none.
size_t book_place(const struct book_reading *reading, sqlite3_stmt *row, int column);

/// Reads the runs that the filter leaves, with their facts. False with history_message set.
bool book_read_runs(struct book_reading *reading);
/// Reads the series, once the runs are there: points of other runs are left out.
bool book_read_series(struct book_reading *reading);

#endif
