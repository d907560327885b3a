// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/history.c - any rows as a history of benchmark runs: a book of them is read or refused with a reason, and
// what reads a book (check, compare, the page) takes it.
//
// The tables have the names and columns of history/schema.c and none of its constraints, as in a damaged database:
// values may be missing, of another type, out of range, or there twice.
#include "history/check.h"
#include "history/compare.h"
#include "history/database.h"
#include "history/page.h"
#include "tests/fuzz/fuzz.h"

// A column's letter says which values it mostly has: ids, names of machines, branches, benchmarks, metrics, units,
// texts, seconds, figures, counts, repetitions, directions.
static const struct {
    const char *make, *columns, *add;
} tables[] = {
    {"machine (id, name)", "IM", "INSERT INTO machine VALUES (?, ?)"},
    {"run (id, machine, branch, commit_name, time, measured)", "IIBXSS", "INSERT INTO run VALUES (?, ?, ?, ?, ?, ?)"},
    {"fact (run, name, value)", "IXX", "INSERT INTO fact VALUES (?, ?, ?)"},
    {"series (id, benchmark, metric, machine, branch, unit, better)", "INTIBUD",
     "INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?)"},
    {"point (series, run, median, count)", "IIFC", "INSERT INTO point VALUES (?, ?, ?, ?)"},
    {"sample (series, run, repetition, value)", "IIRF", "INSERT INTO sample VALUES (?, ?, ?, ?)"},
    {"acknowledgement (id, series, run, time, note)", "IIISX", "INSERT INTO acknowledgement VALUES (?, ?, ?, ?, ?)"},
};
enum { TABLES = sizeof tables / sizeof *tables, USUAL = 200, ROWS = 250 };
enum { MACHINE, RUN, FACT, SERIES, POINT, SAMPLE, ACKNOWLEDGEMENT };

static struct history history;
static sqlite3_stmt *adds[TABLES];

static void make_tables(void)
{
    char sql[200];
    FUZZ_CHECK(sqlite3_open(":memory:", &history.db) == SQLITE_OK);
    for (int i = 0; i < TABLES; i++) {
        snprintf(sql, sizeof sql, "CREATE TABLE %s", tables[i].make);
        FUZZ_CHECK(history_exec(&history, sql));
        adds[i] = history_prepare(&history, tables[i].add);
        FUZZ_CHECK(adds[i]);
    }
}

static int bind_usual(sqlite3_stmt *add, int at, char column, uint8_t value)
{
    static const char *const branches[] = {"main", "work", ""}, *const units[] = {"s", ""};
    static const char *const metrics[] = {"real_time",    "of_peak", "calm",   "stolen",
                                          "instructions", "peer",    "peer_0", "vs_best_peer"};
    char text[8];
    const char *name = text;
    snprintf(text, sizeof text, "%c%d", column, value % 3);
    switch (column) {
    case 'I':
        return sqlite3_bind_int64(add, at, value % 32);
    case 'S':
        return sqlite3_bind_int64(add, at, 86400 * (int64_t)value);
    case 'F':
        return sqlite3_bind_double(add, at, value < 128 ? 1 + value / 1e3 : value / 100.0);
    case 'C':
    case 'R':
        return sqlite3_bind_int64(add, at, value % 8 + (column == 'C'));
    case 'D':
        return sqlite3_bind_int64(add, at, value % 3 - 1);
    case 'B':
        name = branches[value % 3];
        break;
    case 'T':
        name = metrics[value % 8];
        break;
    case 'U':
        name = units[value % 2];
        break;
    default:
        break;
    }
    return sqlite3_bind_text(add, at, name, -1, SQLITE_TRANSIENT);
}

static int bind_any(sqlite3_stmt *add, int at, uint8_t kind, struct fuzz_input *in)
{
    char text[4] = "";
    double real;
    const uint64_t bits = (uint64_t)fuzz_bits(in) << 32 | fuzz_bits(in);
    memcpy(&real, &bits, sizeof real);
    memcpy(text, &bits, sizeof text - 1);
    switch (kind % 5) {
    case 0:
        return sqlite3_bind_null(add, at);
    case 1:
        return sqlite3_bind_int64(add, at, (int64_t)bits);
    case 2:
        return sqlite3_bind_double(add, at, real);
    case 3:
        return sqlite3_bind_text(add, at, text, -1, SQLITE_TRANSIENT);
    default:
        return sqlite3_bind_blob(add, at, text, sizeof text, SQLITE_TRANSIENT);
    }
}

static void add_row(struct fuzz_input *in)
{
    const int table = fuzz_byte(in) % TABLES;
    for (int i = 0; tables[table].columns[i]; i++) {
        const uint8_t kind = fuzz_byte(in);
        const int bound = kind < USUAL ? bind_usual(adds[table], i + 1, tables[table].columns[i], fuzz_byte(in))
                                       : bind_any(adds[table], i + 1, kind, in);
        FUZZ_CHECK(bound == SQLITE_OK);
    }
    FUZZ_CHECK(sqlite3_step(adds[table]) == SQLITE_DONE);
    sqlite3_reset(adds[table]);
}

static void check_book(const struct history_book *book)
{
    for (size_t i = 0; i < book->run_count; i++)
        FUZZ_CHECK(book->runs[i].machine && book->runs[i].branch && book->runs[i].commit);
    for (size_t i = 0; i < book->series_count; i++) {
        const struct history_series *const s = &book->series[i];
        FUZZ_CHECK(s->benchmark && s->metric && s->unit && s->machine && s->branch);
        FUZZ_CHECK(s->better >= HISTORY_LESS && s->better <= HISTORY_MORE);
        FUZZ_CHECK(s->count + s->disturbed_count > 0);
        for (size_t j = 0; j < s->count; j++)
            FUZZ_CHECK(s->points[j].run < book->run_count && isfinite(s->points[j].median) && s->points[j].count > 0 &&
                       (j == 0 || s->points[j - 1].run < s->points[j].run));
    }
}

static void read_book(const struct history_book *book, bool repetitions)
{
    const struct check_options options = {.branch = "work", .baseline = "main", .recent = 5};
    const char *const names[] = {"X0", "X1"}, *unknown;
    struct check check;
    struct compare compare;
    bool missing;
    if (history_check(book, &options, &check, &missing))
        check_free(&check);
    if (repetitions && history_compare(book, names, 0.03, &compare, &unknown))
        compare_free(&compare);
    char *text = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&text, &size);
    FUZZ_CHECK(file && page_write(file, book, &(struct page_options){.commit_url = "u/"}) && fclose(file) == 0);
    // Not even strange figures become numbers that JSON has not.
    const char *const data = strstr(text, "{\n\"machines\"");
    static const char *const odd[] = {":nan", ",nan", "[nan", ":inf", ",inf", ",-inf", ",-nan"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        FUZZ_CHECK(data && !strstr(data, odd[i]));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    const uint8_t bits = fuzz_byte(&in);
    if (!history.db)
        make_tables();
    FUZZ_CHECK(history_exec(&history, "BEGIN"));
    for (int i = 0; i < ROWS && in.size; i++)
        add_row(&in);
    // Millions of repetitions are legal, and only take their time.
    FUZZ_CHECK(history_exec(&history, "UPDATE point SET count = 4096 WHERE CAST(count AS INTEGER) BETWEEN 4096 AND"
                                      " 1 << 24"));
    FUZZ_CHECK(history_exec(&history, "COMMIT"));
    const struct history_filter filter = {.machine = bits & 1 ? "M0" : NULL,
                                          .branch = bits & 2 ? "main" : NULL,
                                          .benchmark = bits & 4 ? "N[01]" : NULL,
                                          .metric = bits & 8 ? "time|peak" : NULL,
                                          .last = bits & 16 ? 9 : 0,
                                          .repetitions = !(bits & 32),
                                          .calm = !(bits & 64)};
    struct history_book book;
    if (history_read(&history, &filter, &book)) {
        check_book(&book);
        read_book(&book, filter.repetitions);
    } else {
        FUZZ_CHECK(*history_message(&history));
    }
    history_book_free(&book);
    for (int i = 0; i < TABLES; i++) {
        char sql[60];
        snprintf(sql, sizeof sql, "DELETE FROM %.*s", (int)strcspn(tables[i].make, " "), tables[i].make);
        FUZZ_CHECK(history_exec(&history, sql));
    }
    return 0;
}

// A row whose columns have usual values.
static size_t put_row(uint8_t *out, int table, const uint8_t *values)
{
    size_t size = 0;
    out[size++] = (uint8_t)table;
    for (int i = 0; tables[table].columns[i]; i++) {
        out[size++] = 0;
        out[size++] = values[i];
    }
    return size;
}

// Two machines, twelve runs of two branches, four metrics whose figures grow in run 8.
size_t fuzz_seed(uint32_t index, uint8_t *out)
{
    enum { RUNS = 12, METRICS = 4 };
    size_t size = 1;
    uint64_t random = index + 1;
    if (index >= 4)
        return 0;
    *out = (uint8_t)(index * 21);
    for (uint8_t i = 0; i < 2; i++)
        size += put_row(out + size, MACHINE, (const uint8_t[]){i, i});
    for (uint8_t i = 0; i < RUNS; i++) {
        const uint8_t branch = i >= RUNS / 2 && index % 2;
        size += put_row(out + size, RUN, (const uint8_t[]){i, 0, branch, i, i, i});
        if (i % 5 == 0)
            size += put_row(out + size, FACT, (const uint8_t[]){i, i, i});
    }
    for (uint8_t i = 0; i < METRICS; i++)
        for (uint8_t branch = 0; branch < 2; branch++) {
            const uint8_t id = (uint8_t)(2 * i + branch);
            size += put_row(out + size, SERIES, (const uint8_t[]){id, 0, i, 0, branch, i > 0, (uint8_t)(i > 0)});
            for (uint8_t run = 0; run < RUNS; run++) {
                if ((run >= RUNS / 2 && index % 2) != branch)
                    continue;
                const uint8_t median = (uint8_t)(run < 8 ? test_below(&random, 4) : 100 + test_below(&random, 4));
                size += put_row(out + size, POINT, (const uint8_t[]){id, run, median, 1});
                size += put_row(out + size, SAMPLE, (const uint8_t[]){id, run, run % 2, median});
            }
        }
    size += put_row(out + size, ACKNOWLEDGEMENT, (const uint8_t[]){0, 0, 8, 8, 0});
    FUZZ_CHECK(size <= FUZZ_SEED_MAX);
    return size;
}
