// SPDX-License-Identifier: Apache-2.0
// history/import.c - stores a report: the run, its facts, its series, points and every repetition.
#include "history/import.h"
#include "history/database.h"
#include "history/metric.h"
#include "history/text.h"

#include "bench/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum statement {
    ADD_MACHINE,
    FIND_MACHINE,
    ADD_RUN,
    FIND_RUN,
    ADD_FACT,
    ADD_SERIES,
    FIND_SERIES,
    ADD_POINT,
    ADD_SAMPLE
};
enum { STATEMENTS = ADD_SAMPLE + 1 };
static const char *const sql[STATEMENTS] = {
    [ADD_MACHINE] = "INSERT INTO machine (name) VALUES (?) ON CONFLICT DO NOTHING",
    [FIND_MACHINE] = "SELECT id FROM machine WHERE name = ?",
    [ADD_RUN] = "INSERT INTO run (machine, branch, commit_name, time, measured, digest) VALUES (?, ?, ?, ?, ?, ?)",
    [FIND_RUN] = "SELECT id FROM run WHERE digest = ?",
    [ADD_FACT] = "INSERT INTO fact (run, name, value) VALUES (?, ?, ?)",
    [ADD_SERIES] = ("INSERT INTO series (benchmark, metric, machine, branch, unit, better) VALUES (?, ?, ?, ?, ?, ?)"
                    " ON CONFLICT DO NOTHING"),
    [FIND_SERIES] = "SELECT id FROM series WHERE benchmark = ? AND metric = ? AND machine = ? AND branch = ?",
    [ADD_POINT] = "INSERT INTO point (series, run, median, count) VALUES (?, ?, ?, ?)",
    [ADD_SAMPLE] = "INSERT INTO sample (series, run, repetition, value) VALUES (?, ?, ?, ?)",
};

struct import {
    struct history *history;
    sqlite3_stmt *statements[STATEMENTS];
    const struct report *report;
    struct history_labels labels;
    char digest[40];
    int64_t machine;
    double *median; // room for the repetitions of a series
    struct history_imported *imported;
};

static bool start(struct import *import)
{
    for (int i = 0; i < STATEMENTS; i++) {
        import->statements[i] = history_prepare(import->history, sql[i]);
        if (!import->statements[i])
            return false;
    }
    import->median = malloc(import->report->value_count * sizeof *import->median);
    return import->median || history_fail(import->history, "no memory");
}

static void finish(struct import *import)
{
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(import->statements[i]);
    free(import->median);
}

const char *history_fill_labels(const struct report *report, struct history_labels *labels)
{
    if (!labels->machine)
        labels->machine = report_find(report, "host_name");
    if (!labels->commit)
        labels->commit = report_find(report, "commit");
    if (!labels->branch)
        labels->branch = "main";
    if (!labels->has_time)
        labels->time = report->date ? report->date : (int64_t)time(NULL);
    return !labels->machine || !*labels->machine ? "the report names no host: give --machine"
           : !labels->commit || !*labels->commit ? "the report names no commit: give --commit"
           : !*labels->branch                    ? "a branch without a name"
           : !text_is_plain(labels->machine) || !text_is_plain(labels->commit) || !text_is_plain(labels->branch)
               ? "a machine, commit or branch whose name has control characters"
               : NULL;
}

static bool label(struct import *import)
{
    struct history_labels *const labels = &import->labels;
    const char *const missing = history_fill_labels(import->report, labels);
    if (missing)
        return history_fail(import->history, "%s", missing);
    uint64_t hashes[TEXT_HASHES];
    for (int i = 0; i < TEXT_HASHES; i++) {
        hashes[i] = text_hash(import->report->digest[i], labels->machine, strlen(labels->machine) + 1);
        hashes[i] = text_hash(hashes[i], labels->branch, strlen(labels->branch) + 1);
        hashes[i] = text_hash(hashes[i], labels->commit, strlen(labels->commit) + 1);
    }
    snprintf(import->digest, sizeof import->digest, "%016" PRIx64 "%016" PRIx64, hashes[0], hashes[1]);
    return true;
}

// One series of the report: its `count` repetitions lie together.
static bool add_series(struct import *import, const struct report_value *values, size_t count)
{
    struct history *const history = import->history;
    sqlite3_stmt *const *const run = import->statements;
    const struct metric metric = metric_of(values->metric);
    const struct history_labels *const labels = &import->labels;
    const int64_t id = import->imported->run;
    int64_t series;
    if (!history_step(history, run[ADD_SERIES], "ttitti", values->benchmark, values->metric, import->machine,
                      labels->branch, metric.unit, (int64_t)metric.better) ||
        !history_step_id(history, run[FIND_SERIES], &series, "ttit", values->benchmark, values->metric, import->machine,
                         labels->branch))
        return false;
    for (size_t i = 0; i < count; i++)
        import->median[i] = values[i].value;
    bool done = history_step(history, run[ADD_POINT], "iiri", series, id, bench_quantile(import->median, count, 0.5),
                             (int64_t)count);
    for (size_t i = 0; i < count && done; i++)
        done = history_step(history, run[ADD_SAMPLE], "iiir", series, id, (int64_t)i, values[i].value);
    import->imported->series++;
    import->imported->values += count;
    return done;
}

static bool add_run(struct import *import)
{
    struct history *const history = import->history;
    const struct report *const report = import->report;
    const struct history_labels *const labels = &import->labels;
    sqlite3_stmt *const *const run = import->statements;
    if (history_step_id(history, run[FIND_RUN], &import->imported->run, "t", import->digest)) {
        import->imported->already = true;
        return true;
    }
    if (!history_step(history, run[ADD_MACHINE], "t", labels->machine) ||
        !history_step_id(history, run[FIND_MACHINE], &import->machine, "t", labels->machine) ||
        !history_step(history, run[ADD_RUN], "ittiit", import->machine, labels->branch, labels->commit, labels->time,
                      report->date, import->digest))
        return false;
    import->imported->run = sqlite3_last_insert_rowid(history->db);
    bool done = true;
    for (size_t i = 0; i < report->fact_count && done; i++)
        done = history_step(history, run[ADD_FACT], "itt", import->imported->run, report->facts[i].name,
                            report->facts[i].value);
    for (size_t i = 0, next; i < report->value_count && done; i = next) {
        for (next = i + 1; next < report->value_count; next++)
            if (strcmp(report->values[i].benchmark, report->values[next].benchmark) != 0 ||
                strcmp(report->values[i].metric, report->values[next].metric) != 0)
                break;
        done = add_series(import, &report->values[i], next - i);
    }
    return done;
}

bool history_import(struct history *history, const struct report *report, const struct history_labels *labels,
                    struct history_imported *imported)
{
    struct import import = {.history = history, .report = report, .labels = *labels, .imported = imported};
    *imported = (struct history_imported){0};
    const bool alone = sqlite3_get_autocommit(history->db) != 0;
    bool done = label(&import) && start(&import) && (!alone || history_begin(history)) && add_run(&import);
    if (alone)
        done = history_end(history, done);
    finish(&import);
    return done;
}

bool history_acknowledge(struct history *history, int64_t series, int64_t run, const char *note)
{
    sqlite3_stmt *const statement =
        history_prepare(history, "INSERT INTO acknowledgement (series, run, time, note) VALUES (?, ?, ?, ?)"
                                 " ON CONFLICT (series, run) DO UPDATE SET note = excluded.note");
    const bool done = statement && history_step(history, statement, "iiit", series, run, (int64_t)time(NULL), note);
    sqlite3_finalize(statement);
    return done;
}
