// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/report.c - any bytes as a report of Google Benchmark: refused with a reason, or all of it is stored, read
// and drawn, and no name in it ends an element of the page.
#include "history/database.h"
#include "history/import.h"
#include "history/page.h"
#include "history/schema.h"
#include "tests/fuzz/fuzz.h"

static struct history history;

static void open_history(void)
{
    FUZZ_CHECK(sqlite3_open(":memory:", &history.db) == SQLITE_OK);
    FUZZ_CHECK(history_exec(&history, "PRAGMA foreign_keys=ON"));
    for (int i = 0; i < history_schema_version; i++)
        FUZZ_CHECK(history_exec(&history, history_schema[i]));
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

static void draw(const struct history_book *book)
{
    static size_t scripts; // of every page
    char *text = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&text, &size);
    FUZZ_CHECK(file && page_write(file, book, &(struct page_options){.commit_url = "u/"}) && fclose(file) == 0);
    FUZZ_CHECK(strlen(text) == size);
    const size_t found = count_of(text, "<script") + count_of(text, "</script") + count_of(text, "<!--");
    scripts = scripts ? scripts : found;
    FUZZ_CHECK(found == scripts && count_of(text, "<object") == 0);
    free(text);
}

// Stored twice under two commits, so that a series has two points.
static void store(const struct report *report)
{
    struct history_imported imported[2];
    for (int i = 0; i < 2; i++) {
        const struct history_labels labels = {
            .machine = "<object>", .branch = "</script", .commit = i ? "<!--" : "c", .has_time = true, .time = i};
        FUZZ_CHECK(history_import(&history, report, &labels, &imported[i]) && !imported[i].already);
        FUZZ_CHECK(imported[i].values == report->value_count && imported[i].series == imported[0].series);
    }
    struct history_book book;
    FUZZ_CHECK(history_read(&history, &(struct history_filter){.repetitions = true}, &book));
    FUZZ_CHECK(book.run_count == 2 && book.series_count == imported[0].series);
    size_t values = 0;
    for (size_t i = 0; i < book.series_count; i++) {
        FUZZ_CHECK(book.series[i].count == 2 && book.series[i].points[0].median == book.series[i].points[1].median);
        values += book.series[i].points[0].count;
    }
    FUZZ_CHECK(values == report->value_count && book.runs[0].fact_count == report->fact_count);
    draw(&book);
    history_book_free(&book);
    FUZZ_CHECK(history_exec(&history, "DELETE FROM run; DELETE FROM series; DELETE FROM machine"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report report;
    char message[300] = "";
    const char *const text = (const char *)data;
    if (!history.db)
        open_history();
    if (report_parse(&text, &size, 1, &report, message, sizeof message)) {
        for (size_t i = 0; i < report.value_count; i++)
            FUZZ_CHECK(isfinite(report.values[i].value) && *report.values[i].benchmark);
        store(&report);
        report_free(&report);
    } else {
        FUZZ_CHECK(*message && !message[strcspn(message, "\n\r\033\177")]);
    }
    return 0;
}

size_t fuzz_seed(uint32_t index, uint8_t *out)
{
    static const char *const texts[] = {
        "{\"context\":{\"date\":\"2026-11-21T15:55:07+00:00\",\"host_name\":\"h\",\"caches\":[{\"type\":\"Data\","
        "\"level\":1,\"size\":32768,\"num_sharing\":2},{\"type\":\"Unified\",\"level\":2,\"size\":1048576}],"
        "\"load_avg\":[0.5,1,2],\"mhz_per_cpu\":2600,\"cpu_scaling_enabled\":false},\"benchmarks\":[{\"name\":"
        "\"gemm/f32/8\",\"run_name\":\"gemm/f32/8\",\"run_type\":\"iteration\",\"repetitions\":2,\"iterations\":7,"
        "\"real_time\":1.5e3,\"cpu_time\":1.25,\"time_unit\":\"us\",\"of_peak\":0.9,\"items_per_second\":1e9},"
        "{\"name\":\"gemm/f32/8\",\"run_type\":\"iteration\",\"real_time\":NaN,\"cpu_time\":-Infinity,\"time_unit\":"
        "\"ns\",\"of_peak\":0.8},{\"name\":\"gemm/f32/"
        "8_mean\",\"run_type\":\"aggregate\",\"real_time\":3,\"time_unit\":"
        "\"ns\"},{\"name\":\"b\",\"error_occurred\":true,\"error_message\":\"none\"}]}",
        "{\"context\":{},\"benchmarks\":[{\"name\":\"<object>\\u003cscript>&\\\"'\",\"real_time\":1,\"time_unit\":"
        "\"s\","
        "\"</script><!--\":-2}]}",
        "{\"context\":{\"peer_0\":\"OpenBLAS\",\"a\":{\"b\":[1,\"c\"]}},\"benchmarks\":[{\"name\":\"b\",\"real_time\":"
        "1,"
        "\"time_unit\":\"ms\",\"calm\":0,\"stolen\":1,\"vs_best_peer\":1.5,\"best_peer\":0,\"instructions\":1000}]}"};
    if (index >= sizeof texts / sizeof *texts)
        return 0;
    memcpy(out, texts[index], strlen(texts[index]));
    return strlen(texts[index]);
}
