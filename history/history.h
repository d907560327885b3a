// SPDX-License-Identifier: Apache-2.0
// history/history.h - the history of benchmark runs: a SQLite database, and what is read from it.
//
// A run is one report (Google Benchmark's JSON) of one commit on one machine. A series is one figure (benchmark and
// metric) on one machine and branch; its points are runs, its values the repetitions in them. Every run is kept.
#ifndef FOVEA_HISTORY_HISTORY_H
#define FOVEA_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history;

enum history_mode {
    HISTORY_READ,  ///< an existing one
    HISTORY_WRITE, ///< made where there is none
};

/// Opens a database, and brings an older schema up to date. Any number of readers and writers may have it open; a
/// writer waits up to 30 s for another. Where nothing can be written (a folder of another user, a read-only mount) it
/// is read all the same, unless a writer has left something beside it. NULL with one line in `message` where it cannot:
/// no such file, not a database, not a history, written by a newer fovea.
struct history *history_open(const char *path, enum history_mode mode, char *message, size_t message_size);
/// Closes it. NULL is legal.
void history_close(struct history *history);
/// The same where nothing came of it: a database that history_open made, and that holds no run, is removed. So a full
/// disk leaves none that is empty.
void history_abandon(struct history *history);
/// One line about the last call that failed.
const char *history_message(const struct history *history);
/// Takes the lock of the one writer: of what is stored from here to history_end all is kept, or nothing. False with
/// history_message set.
bool history_begin(struct history *history);
/// Commits if done, else rolls back. Returns done, or false where it cannot be committed.
bool history_end(struct history *history, bool done);

/// Which way a metric is better.
enum history_better {
    HISTORY_LESS = -1,   ///< times, instructions
    HISTORY_NEITHER = 0, ///< remarks (calm, stolen, quartiles, ...): kept and shown, never judged
    HISTORY_MORE = 1,    ///< fractions of a peak, rates
};

/// A fact about a run's environment: "cpu", "isa", "l2_bytes", "compiler", "flags", "profile", "load", "steal", ...;
/// Google Benchmark's own context too, and "peer_0", ... where the report has peers.
struct history_fact {
    const char *name, *value;
};

struct history_run {
    int64_t id;
    int64_t time; ///< seconds since 1970 UTC: its place on the commit axis (the report's date unless another was given)
    int64_t measured; ///< likewise: the report's date, 0 where it has none
    const char *machine, *branch, *commit;
    const struct history_fact *facts; ///< by name
    size_t fact_count;
};

struct history_point {
    size_t run;    ///< index into struct history_book.runs
    double median; ///< of the repetitions
    const double *values;
    size_t count; ///< repetitions; values is NULL where the book was opened without them
};

/// Somebody knows of the change that begins with this run; it stays quiet.
struct history_acknowledgement {
    int64_t id, run; ///< ids
    size_t at;       ///< index of that run's point in the series; its count where it has none
    int64_t time;
    const char *note;
};

struct history_series {
    int64_t id;
    const char *benchmark; ///< "gemm/f32/plain/nt/128x768x768"
    const char *metric;    ///< "real_time" (seconds), "of_peak", "instructions", ...
    const char *unit;      ///< "s", or "" for a counter
    const char *machine, *branch;
    enum history_better better;
    const struct history_point *points; ///< in the order of their runs
    size_t count;
    const struct history_point *disturbed; ///< those that filter.calm left out, likewise
    size_t disturbed_count;
    const struct history_acknowledgement *acknowledgements;
    size_t acknowledgement_count;
};

/// What is read. Zero and NULL: everything.
struct history_filter {
    const char *machine, *branch; ///< exact names
    const char *benchmark;        ///< an extended regular expression that the name holds
    const char *metric;           ///< likewise
    size_t last;                  ///< so many newest runs of every machine and branch
    bool repetitions;             ///< every value, not only medians
    /// Leaves out points that the bench itself marks as disturbed: those of a benchmark whose "calm" is 0 in that run
    /// or whose "stolen" is above 10 %. Metrics without noise (instructions) keep all of theirs.
    bool calm;
};

/// A part of the history in memory, as it was at one moment. Strings and arrays live as long as the book.
struct history_book {
    const char *const *machines, *const *branches; ///< names, sorted: of the runs below
    size_t machine_count, branch_count;
    const struct history_run *runs; ///< by time, then by id
    size_t run_count;
    const struct history_series *series; ///< by benchmark, metric, machine, branch; each has points, or disturbed ones
    size_t series_count;
    void *memory;
};
/// Reads it. False with history_message set: a bad expression, no memory, a damaged database.
bool history_read(struct history *history, const struct history_filter *filter, struct history_book *book);
/// Frees it. A book of zeros is legal.
void history_book_free(struct history_book *book);

/// A moment at which a series went to another level.
struct history_change {
    size_t at;            ///< index of the first point of the new level: the change lies in (at - 1, at]
    double before, after; ///< the levels on both sides: robust means of at most 128 runs
    double effect;        ///< after / before - 1
    double low, high;     ///< its 95 % interval
    double confidence;    ///< 1 - p of the permutation test; 1 where the series does not vary
    bool worse;           ///< by the metric's direction
    bool acknowledged;
};

/// How changes are found. Zero takes the default in parentheses.
struct history_test {
    double effect;   ///< smaller changes are no changes (0.03)
    double p;        ///< significance of one (0.005)
    size_t shortest; ///< points of the shortest level (3)
};
/// Finds the changes of a series, oldest first, writes at most `most` and returns how many there are. `test` may be
/// NULL. Series with values that are not positive have none.
size_t history_changes(const struct history_series *series, const struct history_test *test,
                       struct history_change *changes, size_t most);
/// Whether the newest one or two points of a series whose level begins at `begin` lie far outside everything before:
/// true, and the change.
bool history_jump(const struct history_series *series, size_t begin, const struct history_test *test,
                  struct history_change *change);
/// Whether a change that begins at a point, give or take three, is one that somebody knows of.
bool history_is_acknowledged(const struct history_series *series, size_t at);

#endif
