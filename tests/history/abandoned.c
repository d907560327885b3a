// SPDX-License-Identifier: Apache-2.0
// tests/history/abandoned.c - what was made for nothing is removed, and only that; a run that went into a removed one
// is not called kept.
#include "history/history.h"
#include "history/import.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] = "{\"context\": {\"host_name\": \"m\"}, \"benchmarks\": [{\"name\": \"b\", \"real_time\": 1, "
                           "\"time_unit\": \"ns\"}]}";
static char folder[] = "/tmp/fovea-abandoned-XXXXXX", path[64];

static struct history *open_or_fail(void)
{
    char message[300] = "";
    struct history *const history = history_open(path, HISTORY_WRITE, message, sizeof message);
    CHECK(history, "%s", message);
    return history;
}

static bool import_run(struct history *history, const char *commit)
{
    struct report report;
    struct history_imported imported;
    char message[300] = "";
    const size_t size = strlen(text);
    CHECK(report_parse((const char *const[]){text}, &size, 1, &report, message, sizeof message), "%s", message);
    const bool done = history_import(history, &report, &(struct history_labels){.commit = commit}, &imported);
    report_free(&report);
    return done;
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/h.db", folder);
    history_abandon(NULL);
    history_abandon(open_or_fail());
    CHECK(access(path, F_OK) != 0, "an empty database is left");

    history_close(open_or_fail());
    history_abandon(open_or_fail());
    CHECK(access(path, F_OK) == 0 && unlink(path) == 0, "one that was there is removed");

    struct history *history = open_or_fail(), *const other = open_or_fail();
    CHECK(import_run(other, "a"), "%s", history_message(other));
    history_abandon(history);
    CHECK(import_run(other, "b"), "%s", history_message(other));
    history_close(other);
    CHECK(access(path, F_OK) == 0, "one that others have filled is removed");

    history = open_or_fail();
    CHECK(unlink(path) == 0 && !import_run(history, "c") && strstr(history_message(history), "removed meanwhile"), "%s",
          history_message(history));
    history_close(history);
    snprintf(path, sizeof path, "rm -r %s", folder);
    CHECK(system(path) == 0, "%s", path);
    return test_done();
}
