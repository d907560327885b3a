// SPDX-License-Identifier: Apache-2.0
// tests/history/store.h - histories in a folder of a test's own, and reports to fill them with.
#ifndef FOVEA_TESTS_HISTORY_STORE_H
#define FOVEA_TESTS_HISTORY_STORE_H

#include "history/database.h"
#include "history/import.h"
#include "tests/support/test.h"

static char folder[] = "/tmp/fovea-history-XXXXXX";

static inline const char *path_of(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline struct history *open_or_fail(const char *name, enum history_mode mode)
{
    char message[300] = "";
    struct history *const history = history_open(path_of(name), mode, message, sizeof message);
    CHECK(history, "%s", message);
    return history;
}

// A report of `series` benchmarks, `repetitions` each. The caller frees it.
static inline char *make_report(size_t series, size_t repetitions, size_t run, size_t *size)
{
    const size_t room = 400 + series * repetitions * 200;
    char *const text = test_alloc(room);
    uint64_t seed = run;
    size_t used = (size_t)snprintf(text, room,
                                   "{\"context\": {\"date\": \"2026-01-01T00:00:%02zu+00:00\", \"host_name\": \"m\"},\n"
                                   "\"benchmarks\": [",
                                   run % 60);
    for (size_t i = 0; i < series * repetitions; i++)
        used += (size_t)snprintf(text + used, room - used,
                                 "%s\n{\"name\": \"b/%zu\", \"run_type\": \"iteration\", \"real_time\": %.9g, "
                                 "\"cpu_time\": 1, \"time_unit\": \"ns\", \"iterations\": 7}",
                                 i ? "," : "", i / repetitions, 1000 + 30 * (double)test_float(&seed));
    used += (size_t)snprintf(text + used, room - used, "]}\n");
    *size = used;
    return text;
}

static inline bool import_text(struct history *history, const char *text, size_t size, const char *commit, int64_t time,
                               struct history_imported *imported)
{
    struct report report;
    char message[300];
    if (!report_parse((const char *const[]){text}, &size, 1, &report, message, sizeof message))
        return false;
    const struct history_labels labels = {.commit = commit, .has_time = time != 0, .time = time};
    const bool done = history_import(history, &report, &labels, imported);
    report_free(&report);
    return done;
}

static inline void run_sql(const char *name, const char *sql)
{
    sqlite3 *db;
    CHECK(sqlite3_open(path_of(name), &db) == SQLITE_OK && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s",
          sqlite3_errmsg(db));
    sqlite3_close(db);
}

#endif
