// SPDX-License-Identifier: Apache-2.0
// cli/history_acknowledge.c - fovea history acknowledge: a change that somebody knows of stays quiet.
#include "cli/history.h"
#include "history/import.h"

#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: fovea history acknowledge --commit NAME --note TEXT [OPTIONS]\n\n"
                           "Marks the changes that begin with a commit (the second of the two that fovea\n"
                           "history check prints) as known, in every series that has a change there: check\n"
                           "no longer fails for them, and prints them with --all.\n\n"
                           "  --db FILE         the database (default: FOVEA_HISTORY, else history.db)\n"
                           "  --commit NAME     the first commit of the new level\n"
                           "  --note TEXT       why this is as it should be\n"
                           "  --branch NAME     (default main)\n"
                           "  --machine NAME    only this one (default all)\n"
                           "  --filter REGEX    only benchmarks whose name holds it\n"
                           "  --metric REGEX    only these metrics\n\n"
                           "exit status: 0 done, 2 wrong usage or input, or no such change\n\n"
                           "example:\n"
                           "  fovea history acknowledge --commit 1a2b3c --filter packed \\\n"
                           "      --note 'exact GELU costs this'\n";

struct order {
    const char *db, *commit, *note;
    struct history_filter filter;
};

// The first run of the commit at or near which a series changes, or NULL.
static const struct history_run *changes_near(const struct history_book *book, const struct history_series *series,
                                              const char *commit)
{
    enum { NEAR = 3 };
    struct history_change *const changes = calloc(series->count + 1, sizeof *changes);
    size_t count = changes ? history_changes(series, NULL, changes, series->count) : 0;
    if (changes)
        count += history_jump(series, count ? changes[count - 1].at : 0, NULL, &changes[count]);
    const struct history_run *found = NULL;
    for (size_t i = 0; i < series->count && !found; i++) {
        const struct history_run *const run = &book->runs[series->points[i].run];
        if (strcmp(run->commit, commit) != 0)
            continue;
        for (size_t j = 0; j < count; j++)
            if ((changes[j].at > i ? changes[j].at - i : i - changes[j].at) <= NEAR)
                found = run;
    }
    free(changes);
    return found;
}

// One transaction, which begins when all changes have been found: that may take seconds.
static bool mark(struct history *history, const struct history_book *book, const struct order *order, size_t *marked)
{
    const struct history_run **const runs = calloc(book->series_count + 1, sizeof *runs); // of each series, or NULL
    for (size_t i = 0; i < book->series_count && runs; i++)
        runs[i] = book->series[i].better ? changes_near(book, &book->series[i], order->commit) : NULL;
    bool done = runs && history_begin(history);
    for (size_t i = 0; i < book->series_count && done; i++)
        if (runs[i]) {
            done = history_acknowledge(history, book->series[i].id, runs[i]->id, order->note);
            ++*marked;
        }
    free(runs);
    return history_end(history, done);
}

static int acknowledge(struct history *history, struct order *order)
{
    struct history_book book;
    if (!history_read(history, &order->filter, &book))
        return cli_error("history acknowledge: %s", history_message(history));
    size_t marked = 0;
    int code = CLI_OK;
    if (!cli_commit(&book, &order->commit))
        code = CLI_USAGE; // it has been said
    else if (!mark(history, &book, order, &marked))
        code = cli_error("history acknowledge: %s", history_message(history));
    else if (marked == 0)
        code = cli_error("history acknowledge: no series changes at commit %s", order->commit); // a name of the book's
    else
        printf("%zu series\n", marked);
    history_book_free(&book);
    return code;
}

int cli_history_acknowledge(int argc, char **argv)
{
    struct order order = {.filter = {.branch = "main", .calm = true}}; // as check sees them
    const struct cli_option options[] = {
        {.name = "--db", .text = &order.db},
        {.name = "--commit", .text = &order.commit},
        {.name = "--note", .text = &order.note},
        {.name = "--branch", .text = &order.filter.branch},
        {.name = "--machine", .text = &order.filter.machine},
        {.name = "--filter", .text = &order.filter.benchmark},
        {.name = "--metric", .text = &order.filter.metric},
        {.name = NULL},
    };
    const int left = cli_only_options("history acknowledge", help, options, argc, argv);
    if (left <= 0)
        return left < 0 ? CLI_OK : CLI_USAGE;
    if (!order.commit || !order.note)
        return cli_error("history acknowledge: wants --commit and --note; --help tells more");
    struct history *const history = cli_history_open(order.db, HISTORY_READ);
    const int code = history ? acknowledge(history, &order) : CLI_USAGE;
    history_close(history);
    return code;
}
