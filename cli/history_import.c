// SPDX-License-Identifier: Apache-2.0
// cli/history_import.c - fovea history import: reports become runs, all of them or none.
#include "cli/history.h"
#include "history/import.h"

#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: fovea history import [OPTIONS] FILE...\n\n"
                           "Keeps reports of Google Benchmark 1.7 and later (--benchmark_format=json; - is\n"
                           "standard input), one run each. Every repetition is kept, aggregates are not,\n"
                           "user counters are metrics. The same report again changes nothing; a file that is\n"
                           "damaged, cut off or something else is named, and then nothing at all is\n"
                           "imported.\n\n"
                           "  --db FILE          the database (default: FOVEA_HISTORY, else history.db);\n"
                           "                     made where it does not exist\n"
                           "  --commit NAME      the commit that was measured (default: \"commit\" of the\n"
                           "                     report's context)\n"
                           "  --branch NAME      (default main)\n"
                           "  --machine NAME     (default: the report's host_name; give one where hosts are\n"
                           "                     rented by the hour)\n"
                           "  --time WHEN        its place on the commit axis, as git show -s --format=%cI\n"
                           "                     prints it (default: the report's date); runs of old commits\n"
                           "                     are put among their neighbours by it\n"
                           "  --fact NAME=VALUE  something else about the environment; may be repeated\n\n"
                           "exit status: 0 done, 2 wrong usage or input\n\n"
                           "examples:\n"
                           "  ./bench --benchmark_repetitions=5 --benchmark_format=json > run.json\n"
                           "  fovea history import --commit $(git rev-parse HEAD) \\\n"
                           "      --time $(git show -s --format=%cI) run.json\n"
                           "  fovea history import --db perf.db --commit v1.2 --machine ci-large \\\n"
                           "      --fact kernel=$(uname -r) *.json\n";

struct order {
    const char *db, *time;
    struct history_labels labels;
    struct cli_list facts;
};

static bool add_facts(struct report *report, const struct cli_list *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        const char *const equals = strchr(facts->items[i], '=');
        char name[64];
        if (!equals || equals == facts->items[i] || (size_t)(equals - facts->items[i]) >= sizeof name)
            return cli_error("history import: --fact takes NAME=VALUE, not \"%s\"", facts->items[i]), false;
        snprintf(name, sizeof name, "%.*s", (int)(equals - facts->items[i]), facts->items[i]);
        if (!report_fact(report, name, equals + 1))
            return cli_error("history import: no memory"), false;
    }
    return true;
}

struct file {
    const char *path;
    struct report report;
    struct history_imported imported;
};

// All files are read before the database is touched.
static bool read_all(const struct order *order, struct file *files, size_t count)
{
    char message[400];
    for (size_t i = 0; i < count; i++) {
        if (!report_read(files[i].path, &files[i].report, message, sizeof message))
            return cli_error("history import: %s", message), false;
        if (!add_facts(&files[i].report, &order->facts))
            return false;
        struct history_labels labels = order->labels;
        const char *const missing = history_fill_labels(&files[i].report, &labels);
        if (missing)
            return cli_error("history import: %s: %s", files[i].path, missing), false;
    }
    return true;
}

// One transaction of all files.
static bool store(struct history *history, const struct order *order, struct file *files, size_t count)
{
    if (!history_begin(history))
        return cli_error("history import: %s", history_message(history)), false;
    for (size_t i = 0; i < count; i++)
        if (!history_import(history, &files[i].report, &order->labels, &files[i].imported)) {
            cli_error("history import: %s: %s", files[i].path, history_message(history));
            return history_end(history, false);
        }
    return history_end(history, true) || (cli_error("history import: %s", history_message(history)), false);
}

static void tell(const struct file *file)
{
    const struct history_imported *const imported = &file->imported;
    if (imported->already)
        printf("%s: already there as run %lld\n", file->path, (long long)imported->run);
    else
        printf("%s: run %lld, %zu series, %zu values\n", file->path, (long long)imported->run, imported->series,
               imported->values);
    if (file->report.failed)
        printf("%s: %zu benchmarks of it failed and are left out\n", file->path, file->report.failed);
}

int cli_history_import(int argc, char **argv)
{
    struct order order = {0};
    const struct cli_option options[] = {
        {.name = "--db", .text = &order.db},
        {.name = "--commit", .text = &order.labels.commit},
        {.name = "--branch", .text = &order.labels.branch},
        {.name = "--machine", .text = &order.labels.machine},
        {.name = "--time", .text = &order.time},
        {.name = "--fact", .list = &order.facts},
        {.name = NULL},
    };
    const int left = cli_options("history import", help, options, argc, argv);
    if (left <= 0)
        return left < 0 ? CLI_OK : CLI_USAGE;
    if (left == 1)
        return cli_error("history import: no file; fovea history import --help tells more");
    order.labels.has_time = order.time != NULL;
    if (order.time && !report_date(order.time, &order.labels.time))
        return cli_error("history import: --time takes a date like 2026-01-31T12:00:00+01:00, not \"%s\"", order.time);
    const size_t count = (size_t)left - 1;
    struct file *const files = calloc(count, sizeof *files);
    for (size_t i = 0; files && i < count; i++)
        files[i].path = argv[1 + i];
    bool done = files && read_all(&order, files, count);
    if (done) {
        struct history *const history = cli_history_open(order.db, HISTORY_WRITE);
        done = history && store(history, &order, files, count);
        (done ? history_close : history_abandon)(history);
    }
    for (size_t i = 0; files && i < count; i++) {
        if (done)
            tell(&files[i]);
        report_free(&files[i].report);
    }
    free(files);
    return done ? CLI_OK : CLI_USAGE;
}
