// SPDX-License-Identifier: Apache-2.0
// tests/history/rows.c - rows that no program of ours writes, and rows that the schema forbids: a book is read without
// them.
#include "tests/history/store.h"

// Rows that no program of ours writes: of runs and points that are not there, or more repetitions than a point counts.
// They are passed over.
static void test_strange_rows(void)
{
    static const char strange[] =
        "INSERT INTO run VALUES (-3, 1, 'main', 'x', 5, 5, 'x');"
        "INSERT INTO fact VALUES (1000000, 'n', 'v'), (-1000000, 'n', 'v'), (-3, 'n', 'v');"
        "INSERT INTO point VALUES (1, 1000000, 1, 1), (1, -1000000, 1, 1), (1, -3, 1, 1);"
        "INSERT INTO sample WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
        " SELECT 1, 1, i, 7 FROM n;"
        "INSERT INTO acknowledgement VALUES (1, 1, 1000000, 0, 'note'), (2, 1, -1000000, 0, 'note');";
    struct history_imported imported;
    struct history_book book;
    size_t size;
    char *const text = make_report(1, 3, 1, &size);
    struct history *history = open_or_fail("strange.db", HISTORY_WRITE);
    CHECK(import_text(history, text, size, "c", 1, &imported), "%s", history_message(history));
    free(text);
    history_close(history);
    run_sql("strange.db", strange);
    history = open_or_fail("strange.db", HISTORY_READ);
    const struct history_filter filter = {.metric = "cpu_time", .repetitions = true, .calm = true};
    CHECK(history_read(history, &filter, &book), "%s", history_message(history));
    CHECK(book.series_count == 1 && book.series[0].count == 1 && book.series[0].points[0].count == 3, "%zu series",
          book.series_count);
    CHECK(book.run_count == 1 && strcmp(book.runs[0].commit, "c") == 0, "%zu runs", book.run_count);
    history_book_free(&book);
    history_close(history);
}

// Rows that the schema forbids, as a damaged database may have them: without names, figures that are none, ids and
// counts for which there is no memory.
static void test_damaged_rows(void)
{
    static const char damage[] =
        "CREATE TABLE m AS SELECT * FROM machine; DROP TABLE machine; ALTER TABLE m RENAME TO machine;"
        "CREATE TABLE r AS SELECT * FROM run; DROP TABLE run; ALTER TABLE r RENAME TO run;"
        "CREATE TABLE s AS SELECT * FROM series; DROP TABLE series; ALTER TABLE s RENAME TO series;"
        "CREATE TABLE p AS SELECT * FROM point; DROP TABLE point; ALTER TABLE p RENAME TO point;"
        "INSERT INTO machine VALUES (9, NULL);"
        "INSERT INTO run VALUES (2, 9, NULL, NULL, 6, 6, 'x'), (1 << 62, 1, 'main', 'c', 7, 7, 'y'),"
        " (3, 1, 'main', 'd', 7, 7, 'z'), (4, 1, 'main', 'e', 7, 7, 'z'), (5, 1, 'main', 'f', 7, 7, 'z');"
        "INSERT INTO series VALUES (9, NULL, NULL, 9, NULL, NULL, 7), (10, 'b', 'cpu_time', 1, NULL, 's', -1);"
        "INSERT INTO point VALUES (1, 3, 9e999, 1), (1, 4, 1, 1 << 62), (1, 5, 1, 0), (9, 2, 1, 1);";
    struct history_imported imported;
    struct history_book book;
    size_t size;
    char *const text = make_report(1, 3, 1, &size);
    struct history *history = open_or_fail("forbidden.db", HISTORY_WRITE);
    CHECK(import_text(history, text, size, "c", 1, &imported), "%s", history_message(history));
    free(text);
    history_close(history);
    run_sql("forbidden.db", damage);
    history = open_or_fail("forbidden.db", HISTORY_READ);
    const struct history_filter filter = {
        .machine = "m", .branch = "main", .benchmark = "b", .metric = "cpu_time", .repetitions = true};
    CHECK(history_read(history, &filter, &book), "%s", history_message(history));
    CHECK(book.series_count == 1 && book.series[0].count == 1 && book.series[0].points[0].count == 3, "%zu series",
          book.series_count);
    history_book_free(&book);
    CHECK(history_read(history, &(struct history_filter){.repetitions = true}, &book), "%s", history_message(history));
    CHECK(book.run_count == 5 && book.series_count == 3 && book.machine_count == 2, "%zu runs, %zu series",
          book.run_count, book.series_count);
    const struct history_series *const nameless = &book.series[0];
    CHECK(*nameless->benchmark == '\0' && *nameless->machine == '\0' && nameless->better == HISTORY_MORE, "a name");
    history_book_free(&book);
    history_close(history);
}

int main(void)
{
    char command[80];
    if (!mkdtemp(folder))
        return 1;
    test_strange_rows();
    test_damaged_rows();
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0, "%s", command);
    return test_done();
}
