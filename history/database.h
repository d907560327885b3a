// SPDX-License-Identifier: Apache-2.0
// history/database.h - an open history, and SQLite in few words: one call for one statement.
#ifndef FOVEA_HISTORY_DATABASE_H
#define FOVEA_HISTORY_DATABASE_H

#include "history/history.h"

#include <sqlite3.h>

struct history {
    sqlite3 *db;
    char *made; ///< NULL, or its path: it was not there before
    char message[400];
};

/// Sets history_message and returns false.
__attribute__((format(printf, 2, 3))) bool history_fail(struct history *history, const char *format, ...);
/// The same with SQLite's own words about the last call.
bool history_fail_sqlite(struct history *history, const char *what);

/// Runs statements without parameters or rows.
bool history_exec(struct history *history, const char *sql);
/// Prepares a statement; NULL with history_message set.
sqlite3_stmt *history_prepare(struct history *history, const char *sql);
/// Binds parameters by a letter each ('i' int64_t, 'r' double, 't' const char *), runs the statement and resets it.
bool history_step(struct history *history, sqlite3_stmt *statement, const char *types, ...);
/// The same for a statement that gives one row of one integer. False also where there is no row.
bool history_step_id(struct history *history, sqlite3_stmt *statement, int64_t *id, const char *types, ...);

#endif
