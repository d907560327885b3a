// SPDX-License-Identifier: Apache-2.0
// cli/bench_history.c - fovea bench --history: the suite's JSON is caught, and kept with what is known of the machine.
#include "cli/bench_history.h"
#include "cli/bench_count.h"

#include <string.h>

#if FOVEA_HAVE_HISTORY

#include "bench/clock.h"
#include "cli/history.h"
#include "history/import.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { REPETITIONS_MAX = 100 };

struct keep {
    const char *history, *repetitions, *time;
    struct history_labels labels;
    char machine[300]; // what it is called where nobody named it
    const char *way;   // in which instructions, and nothing else, are counted
    size_t count;      // of repetitions
    char *texts[REPETITIONS_MAX];
    size_t sizes[REPETITIONS_MAX];
};

static const struct {
    const char *name;
    size_t offset;
} own_options[] = {
    {"--history", offsetof(struct keep, history)},        {"--repetitions", offsetof(struct keep, repetitions)},
    {"--commit", offsetof(struct keep, labels.commit)},   {"--branch", offsetof(struct keep, labels.branch)},
    {"--machine", offsetof(struct keep, labels.machine)}, {"--time", offsetof(struct keep, time)},
};

// Takes our options out of the arguments; returns how many are left, 0 having said what is wrong.
static int take_options(int argc, char **argv, struct keep *keep)
{
    int left = 0;
    for (int i = 0; i < argc; i++) {
        const char **text = NULL;
        for (size_t j = 0; j < sizeof own_options / sizeof *own_options; j++)
            if (strcmp(argv[i], own_options[j].name) == 0)
                text = (const char **)((char *)keep + own_options[j].offset);
        if (!text) {
            argv[left++] = argv[i];
        } else {
            if (i + 1 == argc)
                return cli_error("bench: %s wants a value", argv[i]), 0;
            *text = argv[++i];
        }
    }
    return left;
}

static bool check_options(struct keep *keep)
{
    double repetitions = keep->way ? 1 : 5; // counting twice gives the same numbers
    if (keep->repetitions && !cli_number("--repetitions", keep->repetitions, 1, REPETITIONS_MAX, &repetitions))
        return false;
    keep->count = (size_t)repetitions;
    if (!keep->labels.commit)
        return cli_error("bench: --history wants --commit NAME, say $(git rev-parse HEAD)"), false;
    if (keep->time && !report_date(keep->time, &keep->labels.time))
        return cli_error("bench: --time takes a date like 2026-01-31T12:00:00+01:00, not \"%s\"", keep->time), false;
    return true;
}

// Runs the suite once with its standard output going to memory. Returns the suite's exit code.
static int catch_report(int argc, char **argv, cli_command *suite, char **text, size_t *size)
{
    const int memory = memfd_create("report", MFD_CLOEXEC), screen = dup(STDOUT_FILENO);
    *text = NULL;
    if (memory < 0 || screen < 0 || fflush(stdout) != 0 || dup2(memory, STDOUT_FILENO) < 0)
        return cli_error("bench: cannot catch the report");
    const int code = suite(argc, argv);
    fflush(stdout);
    dup2(screen, STDOUT_FILENO);
    close(screen);
    const off_t end = lseek(memory, 0, SEEK_END);
    *text = malloc((size_t)end + 1);
    *size = *text && pread(memory, *text, (size_t)end, 0) == (ssize_t)end ? (size_t)end : 0;
    close(memory);
    return code;
}

static int run_suite(int argc, char **argv, cli_command *suite, struct keep *keep)
{
    static char json[] = "--json";
    char **const arguments = calloc((size_t)argc + 2, sizeof *arguments);
    int code = arguments ? CLI_OK : cli_error("bench: no memory");
    for (size_t i = 0; i < keep->count && code == CLI_OK; i++) {
        cli_progress("repetitions", i, keep->count);
        int count = 0;
        for (int j = 0; j < argc; j++) // nor is it done beside time
            if (i == 0 || strcmp(argv[j], "--instructions") != 0)
                arguments[count++] = argv[j];
        arguments[count++] = json;
        code = catch_report(count, arguments, suite, &keep->texts[i], &keep->sizes[i]);
    }
    if (code == CLI_OK)
        cli_progress("repetitions", keep->count, keep->count);
    free(arguments);
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
    static const char *const settings[] = {"FOVEA_ISA", "FOVEA_PIN", "FOVEA_EXCLUDE", "FOVEA_PROFILE"};
    struct utsname system;
    double load = 0;
    bool done =
        report_fact(report, "cpu", machine->brand) && report_fact(report, "features", machine->features) &&
        add_number(report, "l1d_bytes", machine->l1d_bytes) && add_number(report, "l2_bytes", machine->l2_bytes) &&
        add_number(report, "l3_bytes", machine->l3_bytes) && report_fact(report, "compiler", FOVEA_COMPILER) &&
        report_fact(report, "flags", FOVEA_FLAGS) && report_fact(report, "profile", fovea_engine_profile(engine)) &&
        report_fact(report, "fovea", fovea_version()) && add_number(report, "steal", stolen);
    if (done && getloadavg(&load, 1) == 1)
        done = add_number(report, "load", load);
    if (done && uname(&system) == 0)
        done = report_fact(report, "system", system.release);
    for (size_t i = 0; i < sizeof settings / sizeof *settings && done; i++)
        if (getenv(settings[i]))
            done = report_fact(report, settings[i], getenv(settings[i]));
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
    if (keep->way && strcmp(keep->way, "steps") != 0)
        snprintf(keep->machine, sizeof keep->machine, "%s in %s", isa, keep->way);
    else
        snprintf(keep->machine, sizeof keep->machine, getenv("FOVEA_ISA") ? "%s, %s" : "%s", host, isa);
}

static int store(const struct keep *keep, struct report *report)
{
    struct history *const history = cli_history_open(keep->history, HISTORY_WRITE);
    struct history_imported imported;
    if (!history)
        return CLI_USAGE;
    const bool done = history_import(history, report, &keep->labels, &imported);
    if (done)
        printf("%s: run %lld, %zu series, %zu values\n", keep->history, (long long)imported.run, imported.series,
               imported.values);
    else
        cli_error("bench: %s: %s", keep->history, history_message(history));
    history_close(history);
    return done ? CLI_OK : CLI_USAGE;
}

static int run_and_store(int argc, char **argv, cli_command *suite, struct keep *keep)
{
    struct fovea_engine *const engine = cli_engine(0);
    if (!engine)
        return CLI_USAGE;
    const struct bench_ticks before = bench_ticks();
    int code = run_suite(argc, argv, suite, keep);
    if (code == CLI_OK) {
        struct report report;
        char message[300];
        if (!report_parse((const char *const *)keep->texts, keep->sizes, keep->count, &report, message, sizeof message))
            code = cli_error("bench: %s", message);
        else if (!add_environment(&report, engine, bench_stolen_since(before)) ||
                 (keep->way && !report_fact(&report, "counted", keep->way)))
            code = cli_error("bench: no memory");
        else {
            name_machine(&report, keep);
            code = store(keep, &report);
        }
        report_free(&report);
    }
    fovea_engine_destroy(engine);
    return code;
}

int cli_bench_history(int argc, char **argv, cli_command *suite)
{
    struct keep keep = {.way = cli_bench_way(argc, argv)};
    const int left = take_options(argc, argv, &keep);
    if (left == 0)
        return CLI_USAGE;
    if (!keep.history) {
        if (left < argc)
            return cli_error("bench: --commit, --branch, --machine, --time and --repetitions go with --history FILE");
        return suite(argc, argv);
    }
    const int code = check_options(&keep) ? run_and_store(left, argv, suite, &keep) : CLI_USAGE;
    for (size_t i = 0; i < keep.count; i++)
        free(keep.texts[i]);
    return code;
}

#else

int cli_bench_history(int argc, char **argv, cli_command *suite)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--history") == 0)
            return cli_error("bench: --history is not built in; build with libsqlite3-dev and libjansson-dev");
    return suite(argc, argv);
}

#endif
