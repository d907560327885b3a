// SPDX-License-Identifier: Apache-2.0
// cli/bench_history.c - fovea bench --history: the suite's JSON is caught, and kept with what is known of the machine.
#include "cli/bench_history.h"

#if FOVEA_HAVE_HISTORY

#include "bench/clock.h"
#include "cli/history.h"
#include "history/import.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

// What is kept of one order.
struct keep {
    const struct cli_bench *order;
    struct history_labels labels;
    char machine[300]; // what it is called where nobody named it
    size_t count;      // of repetitions
    char *texts[CLI_BENCH_REPETITIONS];
    size_t sizes[CLI_BENCH_REPETITIONS];
};

// Whether the database takes a run, asked before the minutes that one needs; false having said why not.
static bool can_store(const char *path)
{
    if (access(path, F_OK) != 0) // it is made with the first run
        return cli_can_replace("bench", path);
    struct history *const history = cli_history_open(path, HISTORY_WRITE);
    history_close(history);
    return history != NULL;
}

static bool begin(const struct cli_bench *order, struct keep *keep)
{
    const uint64_t unsaid = order->way ? 1 : 5; // counting twice gives the same numbers
    *keep = (struct keep){
        .order = order,
        .labels = {.commit = order->commit,
                   .branch = order->branch,
                   .machine = order->machine,
                   .has_time = order->time != NULL},
        .count = (size_t)(order->repetitions ? order->repetitions : unsaid),
    };
    if (!order->commit)
        return cli_error("bench: --history wants --commit NAME, say $(git rev-parse HEAD)"), false;
    if (order->time && !report_date(order->time, &keep->labels.time))
        return cli_error("bench: --time takes a date like 2026-01-31T12:00:00+01:00, not \"%s\"", order->time), false;
    return can_store(order->history);
}

// Runs the suite once with its standard output going to memory. Returns the suite's exit code.
static int catch_report(const struct cli_bench *order, int (*suite)(const struct cli_bench *order), char **text,
                        size_t *size)
{
    const int memory = memfd_create("report", MFD_CLOEXEC), screen = dup(STDOUT_FILENO);
    *text = NULL;
    if (memory < 0 || screen < 0 || fflush(stdout) != 0 || dup2(memory, STDOUT_FILENO) < 0)
        return cli_error("bench: cannot catch the report");
    const int code = suite(order);
    fflush(stdout);
    dup2(screen, STDOUT_FILENO);
    close(screen);
    const off_t end = lseek(memory, 0, SEEK_END);
    *text = malloc((size_t)end + 1);
    *size = *text && pread(memory, *text, (size_t)end, 0) == (ssize_t)end ? (size_t)end : 0;
    close(memory);
    return code;
}

static int run_suite(int (*suite)(const struct cli_bench *order), struct keep *keep)
{
    struct cli_bench order = *keep->order;
    int code = CLI_OK;
    order.options.json = true;
    for (size_t i = 0; i < keep->count && code == CLI_OK; i++) {
        cli_progress("repetitions", i, keep->count);
        code = catch_report(&order, suite, &keep->texts[i], &keep->sizes[i]);
        order.options.instructions = order.options.untimed; // beside time they are counted once
    }
    if (code == CLI_OK)
        cli_progress("repetitions", keep->count, keep->count);
    return code;
}

static bool add_number(struct report *report, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.10g", value);
    return report_fact(report, name, text);
}

// What the report does not say by itself. `stolen`: the host's share of the time it took.
static bool add_environment(struct report *report, const struct fovea_engine *engine, double stolen)
{
    const struct fovea_machine *const machine = fovea_engine_machine(engine);
    struct utsname system;
    double load = 0;
    bool done = report_fact(report, "cpu", machine->brand) && report_fact(report, "features", machine->features) &&
                add_number(report, "l1d_bytes", machine->l1d_bytes) &&
                add_number(report, "l2_bytes", machine->l2_reported_bytes) &&
                add_number(report, "l3_bytes", machine->l3_bytes) && report_fact(report, "compiler", FOVEA_COMPILER) &&
                report_fact(report, "flags", FOVEA_FLAGS) &&
                report_fact(report, "profile", fovea_engine_profile(engine)) &&
                report_fact(report, "fovea", fovea_version()) && add_number(report, "steal", stolen);
    if (done && getloadavg(&load, 1) == 1)
        done = add_number(report, "load", load);
    if (done && uname(&system) == 0)
        done = report_fact(report, "system", system.release);
    for (size_t i = 0; cli_settings[i] && done; i++)
        if (cli_setting(cli_settings[i]))
            done = report_fact(report, cli_settings[i], cli_setting(cli_settings[i]));
    return done;
}

// Figures of an emulator, or of a part of the instruction set, are not those of the machine: unless it was named, they
// are stored under a name that says so.
static void name_machine(const struct report *report, struct keep *keep)
{
    const char *const isa = report_find(report, "isa"), *const host = report_find(report, "host_name");
    if (keep->labels.machine || !isa || !host)
        return;
    keep->labels.machine = keep->machine;
    const char *const way = keep->order->way;
    if (way && strcmp(way, "steps") != 0)
        snprintf(keep->machine, sizeof keep->machine, "%s in %s", isa, way);
    else
        snprintf(keep->machine, sizeof keep->machine, cli_setting("FOVEA_ISA") ? "%s, %s" : "%s", host, isa);
}

static int store(const struct keep *keep, struct report *report)
{
    const char *const path = keep->order->history;
    struct history *const history = cli_history_open(path, HISTORY_WRITE);
    struct history_imported imported;
    if (!history)
        return CLI_USAGE;
    const bool done = history_import(history, report, &keep->labels, &imported);
    if (done)
        printf("%s: run %lld, %zu series, %zu values\n", path, (long long)imported.run, imported.series,
               imported.values);
    else
        cli_error("bench: %s: %s", path, history_message(history));
    (done ? history_close : history_abandon)(history);
    return done ? CLI_OK : CLI_USAGE;
}

static int run_and_store(int (*suite)(const struct cli_bench *order), struct keep *keep)
{
    struct fovea_engine *const engine = cli_engine(0);
    if (!engine)
        return CLI_USAGE;
    const struct bench_ticks before = bench_ticks();
    int code = run_suite(suite, keep);
    if (code == CLI_OK) {
        struct report report;
        char message[300];
        if (!report_parse((const char *const *)keep->texts, keep->sizes, keep->count, &report, message, sizeof message))
            code = cli_error("bench: %s", message);
        else if (!add_environment(&report, engine, bench_stolen_since(before)) ||
                 (keep->order->way && !report_fact(&report, "counted", keep->order->way)))
            code = cli_error("bench: no memory");
        else {
            name_machine(&report, keep);
            code = store(keep, &report);
        }
        report_free(&report);
    } else if (code == CLI_FAILED) { // the lines would have said it
        cli_error("bench: %s: nothing is kept of a run that %s", keep->order->history,
                  cli_stop ? "was stopped" : "has a line that failed");
    }
    fovea_engine_destroy(engine);
    return code;
}

int cli_bench_history(const struct cli_bench *order, int (*suite)(const struct cli_bench *order))
{
    struct keep keep;
    if (!order->history) {
        if (order->commit || order->branch || order->machine || order->time || order->repetitions)
            return cli_error("bench: --commit, --branch, --machine, --time and --repetitions go with --history FILE");
        return suite(order);
    }
    const int code = begin(order, &keep) ? run_and_store(suite, &keep) : CLI_USAGE;
    for (size_t i = 0; i < keep.count; i++)
        free(keep.texts[i]);
    return code;
}

#else

int cli_bench_history(const struct cli_bench *order, int (*suite)(const struct cli_bench *order))
{
    if (order->history)
        return cli_error("bench: --history is not built in; build with libsqlite3-dev and libjansson-dev");
    return suite(order);
}

#endif
