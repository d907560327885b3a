// SPDX-License-Identifier: Apache-2.0
// cli/history.c - fovea history: finds the part, and what the parts share.
#include "cli/history.h"

#include <string.h>
#include <unistd.h>

#if FOVEA_HAVE_HISTORY

static const struct {
    const char *name, *purpose;
    cli_command *run;
} parts[] = {
    {"import", "keep reports of Google Benchmark (its JSON) in a database", cli_history_import},
    {"check", "find the changes that noise hides; exit status 1: a regression", cli_history_check},
    {"compare", "two runs of the database, or two builds measured now", cli_history_compare},
    {"report", "one HTML page of it: what got slower, since when, by how much", cli_history_report},
    {"acknowledge", "a change that somebody knows of stays quiet", cli_history_acknowledge},
};

static void usage(FILE *to)
{
    fprintf(to, "usage: fovea history PART [ARGUMENTS]\n\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        fprintf(to, "  %-12s %s\n", parts[i].name, parts[i].purpose);
    fprintf(to, "\n  fovea history PART --help tells more. The database: --db FILE, else the\n"
                "  environment's FOVEA_HISTORY, else history.db. fovea bench --history FILE runs\n"
                "  a suite and keeps it.\n");
}

int cli_history(int argc, char **argv)
{
    if (argc < 2 || cli_wants_help(argv[1])) {
        usage(argc < 2 ? stderr : stdout);
        return argc < 2 ? CLI_USAGE : CLI_OK;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            return parts[i].run(argc - 1, argv + 1);
    return cli_error("history: no part \"%s\"; fovea history --help lists them", argv[1]);
}

const char *cli_history_path(const char *option)
{
    const char *const set = cli_setting("FOVEA_HISTORY");
    return option ? option : set ? set : "history.db";
}

struct history *cli_history_open(const char *option, enum history_mode mode)
{
    char message[500];
    const char *const path = cli_history_path(option);
    struct history *const history = history_open(path, mode, message, sizeof message);
    const bool missing = !history && mode == HISTORY_READ && access(path, F_OK) != 0;
    if (!history)
        cli_error("history: %s%s", message,
                  missing ? "; fovea history import makes one, --db FILE or FOVEA_HISTORY names another" : "");
    return history;
}

static bool is_hash(const char *commit)
{
    enum { SHA1 = 40 };
    const size_t length = strlen(commit);
    return length >= SHA1 && strspn(commit, "0123456789abcdef") == length;
}

int cli_commit_width(const char *commit)
{
    return is_hash(commit) ? CLI_COMMIT : (int)strlen(commit);
}

bool cli_commit(const struct history_book *book, const char **name)
{
    enum { SHORTEST = 4 };
    const char *found = NULL;
    const size_t length = *name ? strlen(*name) : 0;
    for (size_t i = 0; i < book->run_count && *name; i++) {
        const char *const commit = book->runs[i].commit;
        if (strcmp(commit, *name) == 0)
            return true;
        if (length < SHORTEST || !is_hash(commit) || strncmp(commit, *name, length) != 0)
            continue;
        if (found && strcmp(found, commit) != 0)
            return cli_error("history: several commits begin with %s", *name), false;
        found = commit;
    }
    *name = found ? found : *name;
    return true;
}

const char *cli_figure(char *text, double value, const char *metric, const char *unit)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
    if (strcmp(unit, "s") == 0) {
        size_t i = 0;
        while (i + 1 < sizeof units / sizeof *units && value >= units[i + 1].unit)
            i++;
        snprintf(text, CLI_FIGURE, "%.4g %s", value / units[i].unit, units[i].name);
    } else if (strncmp(metric, "of_", 3) == 0) {
        snprintf(text, CLI_FIGURE, "%.1f %%", 100 * value);
    } else {
        snprintf(text, CLI_FIGURE, "%.6g%s%s", value, *unit ? " " : "", unit);
    }
    return text;
}

#else

int cli_history(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_error("history: not built in; build with libsqlite3-dev and libjansson-dev installed (CMake option "
                     "FOVEA_BUILD_HISTORY)");
}

#endif
