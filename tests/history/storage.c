// SPDX-License-Identifier: Apache-2.0
// tests/history/storage.c - the database: migrations, foreign keys, writers at once, damaged reports; or one of many
// runs.
//
// usage: history_storage [large SERIES RUNS]    prints the times of such a history; those of docs/history.md: 200 1000
#include "history/check.h"
#include "history/schema.h"
#include "tests/history/store.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int64_t count_rows(struct history *history, const char *sql)
{
    int64_t count = -1;
    sqlite3_stmt *const statement = history_prepare(history, sql);
    if (statement)
        history_step_id(history, statement, &count, "");
    sqlite3_finalize(statement);
    return count;
}

static void test_idempotent(void)
{
    size_t size;
    char *const text = make_report(5, 3, 1, &size);
    struct history *const history = open_or_fail("idempotent.db", HISTORY_WRITE);
    struct history_imported one, again, other;
    CHECK(import_text(history, text, size, "c", 0, &one) && !one.already && one.series == 10 && one.values == 30,
          "%zu series, %zu values", one.series, one.values);
    CHECK(import_text(history, text, size, "c", 0, &again) && again.already && again.run == one.run, "again");
    CHECK(import_text(history, text, size, "d", 0, &other) && !other.already && other.run != one.run, "other commit");
    CHECK(count_rows(history, "SELECT count(*) FROM run") == 2, "runs");
    CHECK(count_rows(history, "SELECT count(*) FROM sample") == 60, "samples");

    // Foreign keys hold, and a run that goes takes what belongs to it along.
    CHECK(!history_exec(history, "INSERT INTO point VALUES (1, 999, 1.0, 1)"), "a point of no run");
    CHECK(!history_exec(history, "INSERT INTO sample VALUES (1, 999, 0, 1.0)"), "a sample of no point");
    CHECK(!history_exec(history, "DELETE FROM machine"), "a machine that has runs");
    CHECK(!history_acknowledge(history, 1, 999, "nothing"), "an acknowledgement of no run");
    CHECK(history_acknowledge(history, 1, one.run, "known") && history_acknowledge(history, 1, one.run, "better known"),
          "%s", history_message(history));
    CHECK(history_exec(history, "DELETE FROM run WHERE id = 1"), "%s", history_message(history));
    CHECK(count_rows(history, "SELECT count(*) FROM sample") == 30 &&
              count_rows(history, "SELECT count(*) FROM acknowledgement") == 0 &&
              count_rows(history, "SELECT count(*) FROM fact WHERE run = 1") == 0,
          "what belonged to the run");
    history_close(history);
    free(text);
}

// Three runs of which the second was never calm: it is left out of noisy series, with its repetitions.
static void test_disturbed(void)
{
    static const char *const calm[] = {"0.9", "0", "0.8"};
    struct history *const history = open_or_fail("disturbed.db", HISTORY_WRITE);
    struct history_imported imported;
    struct history_book book;
    for (int i = 0; i < 3; i++) {
        char text[600];
        const int size =
            snprintf(text, sizeof text,
                     "{\"context\": {\"host_name\": \"m\"}, \"benchmarks\": [{\"name\": \"b\", \"real_time\": %d,"
                     " \"time_unit\": \"ns\", \"instructions\": 5, \"calm\": %s}]}",
                     i + 1, calm[i]);
        CHECK(import_text(history, text, (size_t)size, "c", i + 1, &imported), "%s", history_message(history));
    }
    const int64_t time = count_rows(history, "SELECT id FROM series WHERE metric = 'real_time'");
    CHECK(history_acknowledge(history, time, 2, "known"), "%s", history_message(history));
    const struct history_filter filter = {.metric = "real_time|instructions", .repetitions = true, .calm = true};
    CHECK(history_read(history, &filter, &book) && book.series_count == 2, "%s", history_message(history));
    const struct history_series *const counts = &book.series[0], *const times = &book.series[1];
    CHECK(counts->count == 3 && counts->disturbed_count == 0, "%zu counts", counts->count);
    CHECK(times->count == 2 && times->disturbed_count == 1 && times->disturbed[0].run == 1, "%zu times", times->count);
    for (size_t i = 0; i < times->count; i++)
        CHECK(times->points[i].run == 2 * i && times->points[i].values[0] == times->points[i].median, "%zu", i);
    CHECK(times->disturbed[0].median == 2e-9 && times->disturbed[0].values[0] == 2e-9, "%g",
          times->disturbed[0].median);
    CHECK(times->acknowledgement_count == 1 && times->acknowledgements[0].at == 1, "the next run stands for it");
    history_book_free(&book);
    history_close(history);
}

static void test_versions(void)
{
    char sql[200], message[300];
    // A database of the first version keeps its runs, and learns of acknowledgements.
    run_sql("old.db", history_schema[0]);
    snprintf(sql, sizeof sql,
             "INSERT INTO machine VALUES (1, 'm'); INSERT INTO run VALUES (1, 1, 'main', 'c', 5, 5, 'x');"
             "PRAGMA application_id=%d; PRAGMA user_version=1",
             HISTORY_APPLICATION);
    run_sql("old.db", sql);
    struct history *history = open_or_fail("old.db", HISTORY_READ);
    CHECK(count_rows(history, "SELECT count(*) FROM run") == 1 &&
              count_rows(history, "SELECT count(*) FROM acknowledgement") == 0 &&
              count_rows(history, "PRAGMA user_version") == history_schema_version,
          "%s", history_message(history));
    struct history_book book;
    CHECK(history_read(history, &(struct history_filter){0}, &book) && book.run_count == 1 && book.series_count == 0,
          "%s", history_message(history));
    history_book_free(&book);
    history_close(history);

    static const struct {
        const char *name, *sql, *says;
    } others[] = {
        {"newer.db", "PRAGMA application_id=1179604552; PRAGMA user_version=1000; CREATE TABLE t (i)", "newer"},
        {"foreign.db", "CREATE TABLE t (i)", "another program"},
        {"named.db", "PRAGMA application_id=7", "another program"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        run_sql(others[i].name, others[i].sql);
        for (int mode = HISTORY_READ; mode <= HISTORY_WRITE; mode++) {
            history = history_open(path_of(others[i].name), (enum history_mode)mode, message, sizeof message);
            CHECK(!history && strstr(message, others[i].says), "%s: %s", others[i].name, message);
            history_close(history);
        }
    }
    CHECK(!history_open(path_of("nonesuch.db"), HISTORY_READ, message, sizeof message), "no such file");
    CHECK(access(path_of("nonesuch.db"), F_OK) != 0, "reading made a file");
}

// A database in a folder where nothing can be written is read, unless somebody has left what is not in it yet.
static void test_unwritable(void)
{
    static const char name[] = "odd ?#%41.db";
    struct history *history = open_or_fail(name, HISTORY_WRITE);
    history_close(history);
    const bool root = geteuid() == 0;
    CHECK(chmod(path_of(name), 0444) == 0 && chmod(folder, 0555) == 0 && (!root || seteuid(65534) == 0), "unwritable");
    char message[300];
    CHECK(!history_open(path_of(name), HISTORY_WRITE, message, sizeof message), "it can be written");
    history = open_or_fail(name, HISTORY_READ);
    struct history_book book;
    CHECK(history && history_read(history, &(struct history_filter){0}, &book), "it cannot be read");
    history_book_free(&book);
    history_close(history);
    CHECK((!root || seteuid(0) == 0) && chmod(folder, 0700) == 0, "writable again");
    char beside[300];
    snprintf(beside, sizeof beside, "%s-wal", path_of(name));
    FILE *const left = fopen(beside, "w");
    CHECK(left && fputs("pages", left) > 0 && fclose(left) == 0 && chmod(beside, 0) == 0, "%s", beside);
    CHECK(chmod(folder, 0555) == 0 && (!root || seteuid(65534) == 0), "unwritable");
    CHECK(!history_open(path_of(name), HISTORY_READ, message, sizeof message), "half of it is read");
    CHECK((!root || seteuid(0) == 0) && chmod(folder, 0700) == 0, "writable again");
}

// Every beginning of a report is refused, and so is whatever a byte makes of it, unless it still is one.
static void test_damaged(void)
{
    size_t size;
    char *const text = make_report(2, 2, 3, &size), message[300];
    struct report report;
    for (size_t end = 0; end + 2 < size; end++) {
        message[0] = '\0';
        const bool read = report_parse((const char *const[]){text}, &end, 1, &report, message, sizeof message);
        CHECK(!read && *message && !strchr(message, '\n'), "%zu of %zu bytes: %s", end, size, message);
    }
    uint64_t seed = 5;
    for (int i = 0; i < 3000; i++) {
        const size_t at = test_below(&seed, (uint32_t)size);
        const char was = text[at];
        text[at] = (char)test_below(&seed, 256);
        if (report_parse((const char *const[]){text}, &size, 1, &report, message, sizeof message))
            for (size_t j = 0; j < report.value_count; j++)
                CHECK(isfinite(report.values[j].value), "%s", report.values[j].metric);
        report_free(&report);
        text[at] = was;
    }
    free(text);
    static const char *const foreign[] = {
        "",
        "[]",
        "null",
        "{}",
        "{\"context\": {}, \"benchmarks\": []}",
        "{\"context\": [], \"benchmarks\": []}",
        "\xff",
        "[[[[[[",
        "{\"context\": {}, \"benchmarks\": [1]}",
        "{\"context\": {}, \"benchmarks\": [{\"name\": \"b\", \"real_time\": 1, \"time_unit\": \"parsecs\"}]}",
        "{\"context\": {}, \"benchmarks\": [{\"name\": \"b\", \"real_time\": \"1\", \"time_unit\": \"ns\"}]}",
        "{\"context\": {}, \"benchmarks\": [{\"name\": \"\", \"real_time\": 1, \"time_unit\": \"ns\"}]}",
        "{\"context\": {}, \"benchmarks\": [{\"name\": \"b\", \"error_occurred\": true}]}"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const size_t length = strlen(foreign[i]);
        CHECK(!report_parse(&foreign[i], &length, 1, &report, message, sizeof message), "%s", foreign[i]);
    }
}

static void test_writers(void)
{
    enum { WRITERS = 3, RUNS = 12 };
    pid_t children[WRITERS];
    for (int writer = 0; writer < WRITERS; writer++) {
        children[writer] = fork();
        if (children[writer] != 0)
            continue;
        char message[300], commit[16];
        struct history *const history = history_open(path_of("shared.db"), HISTORY_WRITE, message, sizeof message);
        bool done = history != NULL;
        for (size_t run = 0; run < RUNS && done; run++) {
            size_t size;
            char *const text = make_report(20, 3, run, &size); // each writer imports the same reports
            struct history_imported imported;
            snprintf(commit, sizeof commit, "c%zu", run);
            done = import_text(history, text, size, commit, 0, &imported);
            free(text);
        }
        if (!done)
            fprintf(stderr, "writer %d: %s\n", writer, history ? history_message(history) : message);
        history_close(history);
        _exit(!done);
    }
    for (int writer = 0; writer < WRITERS; writer++) {
        int status = 1;
        CHECK(waitpid(children[writer], &status, 0) > 0 && status == 0, "writer %d: %d", writer, status);
    }
    struct history *const history = open_or_fail("shared.db", HISTORY_READ);
    CHECK(count_rows(history, "SELECT count(*) FROM run") == RUNS &&
              count_rows(history, "SELECT count(*) FROM sample") == (int64_t)RUNS * 20 * 3 * 2 &&
              count_rows(history, "SELECT count(*) FROM pragma_foreign_key_check") == 0,
          "%lld runs", (long long)count_rows(history, "SELECT count(*) FROM run"));
    history_close(history);
}

static void test_large(size_t series, size_t runs)
{
    struct history *const history = open_or_fail("large.db", HISTORY_WRITE);
    double longest = 0, importing = 0;
    for (size_t run = 0; run < runs; run++) {
        size_t size;
        char *const text = make_report(series, 2, run + 1000, &size), commit[24];
        struct history_imported imported;
        snprintf(commit, sizeof commit, "c%zu", run);
        const double start = now();
        CHECK(import_text(history, text, size, commit, (int64_t)run + 1, &imported), "%s", history_message(history));
        const double took = now() - start;
        importing += took;
        longest = took > longest ? took : longest;
        free(text);
    }
    const double start = now();
    const struct history_filter filter = {.metric = "^(real_time|instructions|of_peak)$"};
    const struct check_options options = {.branch = "main", .recent = 20};
    struct history_book book;
    struct check check;
    bool missing;
    CHECK(history_read(history, &filter, &book), "%s", history_message(history));
    const double read = now();
    CHECK(book.series_count == series && book.run_count == runs && book.series[0].count == runs, "%zu series",
          book.series_count);
    CHECK(history_check(&book, &options, &check, &missing) && check.judged == series, "%zu judged", check.judged);
    const double checked = now();
    printf("%zu series x %zu runs: import of a run %.1f ms (longest %.1f), reading %.2f s, check %.2f s, %zu "
           "regressions\n",
           series, runs, 1e3 * importing / (double)runs, 1e3 * longest, read - start, checked - read,
           check.regressions);
    check_free(&check);
    history_book_free(&book);
    history_close(history);
}

int main(int argc, char **argv)
{
    char command[80];
    if (!mkdtemp(folder))
        return 1;
    if (argc == 4 && strcmp(argv[1], "large") == 0) {
        test_large(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    } else {
        test_idempotent();
        test_disturbed();
        test_versions();
        test_unwritable();
        test_damaged();
        test_writers();
        test_large(300, 8); // reports of more values than a reader has room for at first
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return test_done();
}
