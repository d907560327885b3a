// SPDX-License-Identifier: Apache-2.0
// history/database.c - opens a history, brings its schema up to date, and runs statements.
#include "history/database.h"
#include "history/schema.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 30000 }; // an import holds the lock for some 20 ms a report

bool history_fail(struct history *history, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(history->message, sizeof history->message, format, args);
    va_end(args);
    return false;
}

bool history_fail_sqlite(struct history *history, const char *what)
{
    return history_fail(history, "%s: %s", what, sqlite3_errmsg(history->db));
}

const char *history_message(const struct history *history)
{
    return history->message;
}

bool history_exec(struct history *history, const char *sql)
{
    return sqlite3_exec(history->db, sql, NULL, NULL, NULL) == SQLITE_OK || history_fail_sqlite(history, "history");
}

bool history_begin(struct history *history)
{
    return history_exec(history, "BEGIN IMMEDIATE");
}

// Whoever opened a database that another program then abandoned has written into a file without a name.
static bool is_there(struct history *history)
{
    int moved = 0;
    sqlite3_file_control(history->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return !moved || history_fail(history, "history: the database was removed meanwhile");
}

bool history_end(struct history *history, bool done)
{
    if (done && history_exec(history, "COMMIT"))
        return is_there(history);
    sqlite3_exec(history->db, "ROLLBACK", NULL, NULL, NULL); // the message of what failed first stays
    return false;
}

sqlite3_stmt *history_prepare(struct history *history, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(history->db, sql, -1, &statement, NULL) != SQLITE_OK)
        history_fail_sqlite(history, "history");
    return statement;
}

static int bind(sqlite3_stmt *statement, const char *types, va_list args)
{
    int status = SQLITE_OK;
    for (int i = 0; types[i] && status == SQLITE_OK; i++) {
        if (types[i] == 'i')
            status = sqlite3_bind_int64(statement, i + 1, va_arg(args, int64_t));
        else if (types[i] == 'r')
            status = sqlite3_bind_double(statement, i + 1, va_arg(args, double));
        else
            status = sqlite3_bind_text(statement, i + 1, va_arg(args, const char *), -1, SQLITE_STATIC);
    }
    return status;
}

bool history_step(struct history *history, sqlite3_stmt *statement, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    int status = bind(statement, types, args);
    va_end(args);
    if (status == SQLITE_OK)
        status = sqlite3_step(statement);
    const bool done = status == SQLITE_DONE || status == SQLITE_ROW || history_fail_sqlite(history, "history");
    sqlite3_reset(statement);
    return done;
}

bool history_step_id(struct history *history, sqlite3_stmt *statement, int64_t *id, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    int status = bind(statement, types, args);
    va_end(args);
    if (status == SQLITE_OK)
        status = sqlite3_step(statement);
    if (status == SQLITE_ROW)
        *id = sqlite3_column_int64(statement, 0);
    else if (status == SQLITE_DONE)
        history_fail(history, "history: nothing found");
    else
        history_fail_sqlite(history, "history");
    sqlite3_reset(statement);
    return status == SQLITE_ROW;
}

static bool pragma(struct history *history, const char *sql, int64_t *value)
{
    sqlite3_stmt *const statement = history_prepare(history, sql);
    const bool done = statement && history_step_id(history, statement, value, "");
    sqlite3_finalize(statement);
    return done;
}

// Somebody else's, or one of a newer fovea.
static bool known_version(struct history *history, int64_t version)
{
    if (version < 0)
        return history_fail(history, "another program's database");
    return version <= history_schema_version ||
           history_fail(history, "schema version %d, and this fovea knows %d: use a newer one", (int)version,
                        history_schema_version);
}

// What kind of database this is: its schema's version, 0 for one without a table, -1 for somebody else's.
static bool find_version(struct history *history, int64_t *version)
{
    int64_t application, tables;
    // One transaction, or another program makes the database between two of the questions. Whoever hears false closes.
    const bool alone = sqlite3_get_autocommit(history->db) != 0;
    if ((alone && !history_exec(history, "BEGIN")) || !pragma(history, "PRAGMA application_id", &application) ||
        !pragma(history, "PRAGMA user_version", version) ||
        !pragma(history, "SELECT count(*) FROM sqlite_master", &tables) || (alone && !history_exec(history, "COMMIT")))
        return false;
    if (application != HISTORY_APPLICATION)
        *version = tables == 0 && application == 0 && *version == 0 ? 0 : -1;
    return true;
}

// Runs the steps that are missing, all or none. Whoever waited for the lock finds them done, perhaps by a newer fovea.
static bool migrate(struct history *history)
{
    int64_t version;
    char sql[80];
    if (!history_begin(history))
        return false;
    bool done = find_version(history, &version) && known_version(history, version);
    for (int64_t i = version; done && i < history_schema_version; i++)
        done = history_exec(history, history_schema[i]);
    snprintf(sql, sizeof sql, "PRAGMA application_id=%d; PRAGMA user_version=%d", HISTORY_APPLICATION,
             history_schema_version);
    return history_end(history, done && history_exec(history, sql));
}

// Write-ahead logging, for readers beside a writer. Changing to it wants the database alone, and SQLite does not wait
// for that: two programs that make the same database at once have to try again.
static bool enter_wal(struct history *history)
{
    enum { TRIES = 200, PAUSE_MS = 25 };
    int status = SQLITE_BUSY;
    for (int i = 0; i < TRIES && status == SQLITE_BUSY; i++) {
        if (i > 0)
            sqlite3_sleep(PAUSE_MS);
        status = sqlite3_exec(history->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
    }
    return status == SQLITE_OK || history_fail_sqlite(history, "history");
}

static bool prepare_database(struct history *history, enum history_mode mode)
{
    int64_t version;
    if (!find_version(history, &version))
        return history_fail(history, "%s", sqlite3_errmsg(history->db));
    if (!known_version(history, version))
        return false;
    if (version == 0 && mode == HISTORY_READ)
        return history_fail(history, "an empty database: fovea history import fills it");
    if (!history_exec(history, "PRAGMA foreign_keys=ON; PRAGMA synchronous=NORMAL"))
        return false;
    return version == history_schema_version || (enter_wal(history) && migrate(history));
}

// Opens a file and prepares it; false with a message.
static bool open_file(struct history *history, const char *name, int flags, enum history_mode mode)
{
    sqlite3_close(history->db); // of another try
    if (sqlite3_open_v2(name, &history->db, flags, NULL) != SQLITE_OK)
        return history_fail(history, "%s", sqlite3_errmsg(history->db));
    if (mode == HISTORY_WRITE && sqlite3_db_readonly(history->db, "main") == 1)
        return history_fail(history, "it cannot be written");
    sqlite3_extended_result_codes(history->db, 0);
    sqlite3_busy_timeout(history->db, BUSY_MS);
    return prepare_database(history, mode);
}

// Where nothing may be written (an artifact, another user's folder) SQLite cannot make the index beside the database
// that its readers share, and reads on only if told that nobody changes the file. That is so unless a writer has left
// pages beside it.
static bool open_unwritable(struct history *history, const char *path)
{
    const int refused = sqlite3_errcode(history->db);
    const size_t room = 3 * strlen(path) + 32;
    char *const name = malloc(room);
    if (!name || (refused != SQLITE_READONLY && refused != SQLITE_CANTOPEN)) {
        free(name);
        return false;
    }
    bool done = true; // unless something beside it is part of it
    for (int i = 0; i < 2; i++) {
        struct stat beside;
        snprintf(name, room, i == 0 ? "%s-wal" : "%s-journal", path);
        done = done && (stat(name, &beside) != 0 || beside.st_size == 0);
    }
    size_t used = (size_t)snprintf(name, room, "file:");
    for (size_t i = 0; path[i]; i++)
        used += (size_t)snprintf(name + used, room - used, "%%%02x", (unsigned char)path[i]);
    snprintf(name + used, room - used, "?immutable=1");
    done = done && open_file(history, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, HISTORY_READ);
    free(name);
    return done;
}

// What SQLite takes for the name of a file, and for nothing else: ":memory:" keeps nothing, and Debian's SQLite reads
// "file:x?mode=memory" as a URI.
static char *file_name(const char *path)
{
    const size_t room = strlen(path) + sizeof "./";
    char *const name = malloc(room);
    if (name)
        snprintf(name, room, "%s%s", *path == '/' ? "" : "./", path);
    return name;
}

struct history *history_open(const char *path, enum history_mode mode, char *message, size_t message_size)
{
    struct history *const history = calloc(1, sizeof *history);
    char *const name = file_name(path);
    if (!history || !name) {
        snprintf(message, message_size, "%s: no memory", path);
        free(history);
        free(name);
        return NULL;
    }
    const int flags = SQLITE_OPEN_READWRITE | (mode == HISTORY_WRITE ? SQLITE_OPEN_CREATE : 0);
    if (mode == HISTORY_WRITE && access(path, F_OK) != 0)
        history->made = strdup(path); // without memory it is one that stays
    const bool open = open_file(history, name, flags, mode) || (mode == HISTORY_READ && open_unwritable(history, path));
    free(name);
    if (open)
        return history;
    snprintf(message, message_size, "%s: %s", path, history->message);
    history_abandon(history);
    return NULL;
}

void history_close(struct history *history)
{
    if (!history)
        return;
    sqlite3_close(history->db);
    free(history->made);
    free(history);
}

// Whether it has no run, nor is somebody else's.
static bool is_empty(struct history *history)
{
    int64_t version, runs;
    return find_version(history, &version) &&
           (version == 0 || (version > 0 && pragma(history, "SELECT count(*) FROM run", &runs) && runs == 0));
}

// Opens it so that nobody else has it open, which takes no index beside it, for which the disk may have no room.
static bool open_alone(struct history *history, const char *place)
{
    return sqlite3_open_v2(place, &history->db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
           history_exec(history, "PRAGMA locking_mode=EXCLUSIVE") && history_begin(history);
}

// Of no byte it is empty in any case, and has no lock on a full disk.
void history_abandon(struct history *history)
{
    static const char *const files[] = {"-wal", "-shm", "-journal", ""};
    char place[PATH_MAX], name[PATH_MAX + 16]; // where a link leads; the link stays
    struct stat there;
    if (history && history->made && realpath(history->made, place) && stat(place, &there) == 0) {
        sqlite3_close(history->db);
        history->db = NULL;
        const bool empty = there.st_size == 0 || (open_alone(history, place) && is_empty(history));
        for (size_t i = 0; empty && i < sizeof files / sizeof *files; i++) {
            snprintf(name, sizeof name, "%s%s", place, files[i]);
            unlink(name);
        }
    }
    history_close(history);
}
