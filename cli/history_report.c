// SPDX-License-Identifier: Apache-2.0
// cli/history_report.c - fovea history report: the page, written beside its place and then put there.
#include "cli/history.h"
#include "history/page.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "usage: fovea history report [OPTIONS] -o FILE\n\n"
    "Writes one HTML page of the history: benchmarks sorted worst first, a chart of each with its changes marked, two "
    "runs\n"
    "compared, environments. It needs no network and no server, and its tables no JavaScript.\n\n"
    "  -o FILE            the page; - is standard output\n"
    "  --db FILE          the database (default: FOVEA_HISTORY, else history.db)\n"
    "  --machine NAME     only this machine (the page has a choice of all otherwise)\n"
    "  --branch NAME      only this branch\n"
    "  --baseline NAME    the branch whose runs come before those of the others (default: main, else master)\n"
    "  --filter REGEX     only benchmarks whose names match this extended regular expression\n"
    "  --metric REGEX     only such metrics\n"
    "  --last N           only the newest N runs of every machine and branch\n"
    "  --disturbed        judge points too that fovea bench marks as disturbed (calm 0, or more than 10 % stolen);\n"
    "                     else they are drawn hollow and left out\n"
    "  --title TEXT       (default: Performance history)\n"
    "  --commit-url URL   commits become links: their name is appended to it\n\n"
    "exit status: 0 done, 2 wrong usage or input\n\n"
    "examples:\n"
    "  fovea history report -o page.html\n"
    "  fovea history report --db perf.db --last 500 --commit-url https://github.com/me/app/commit/ -o page.html\n";

struct order {
    const char *path, *db;
    uint64_t last;
    struct history_filter filter;
    struct page_options options;
    bool disturbed;
};

static bool check_url(const char *url)
{
    if (!url || strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0)
        return true;
    return cli_error("history report: --commit-url wants https://... or http://..., not \"%s\"", url), false;
}

// The page has the rights of a new file, not those of a temporary one.
static void open_to_readers(int descriptor)
{
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, 0666 & ~mask);
}

// What went wrong with a file, to be said after it is closed; 0: nothing.
static int fill(FILE *file, const struct history_book *book, const struct page_options *options)
{
    errno = 0;
    if (!page_write(file, book, options))
        errno = ENOMEM;
    else if (fflush(file) == 0 && !ferror(file))
        return 0;
    return errno ? errno : EIO;
}

// Writes beside `path` and renames, so that a reader sees the old page or the new one, and a failure leaves the old
// one.
static int write_beside(const char *path, const struct history_book *book, const struct page_options *options)
{
    char beside[PATH_MAX];
    if ((size_t)snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= sizeof beside)
        return cli_error("history report: %s: the name is too long", path);
    const int descriptor = mkstemp(beside);
    FILE *const file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file)
        return cli_error("history report: %s: %s", path, strerror(errno));
    open_to_readers(descriptor);
    int wrong = fill(file, book, options);
    if (fclose(file) != 0 && !wrong)
        wrong = errno;
    if (!wrong && rename(beside, path) != 0)
        wrong = errno;
    if (!wrong)
        return CLI_OK;
    unlink(beside);
    return cli_error("history report: %s: %s", path, strerror(wrong));
}

static int write_page(const char *path, const struct history_book *book, const struct page_options *options)
{
    struct stat there;
    const bool standard = strcmp(path, "-") == 0;
    if (!standard && (stat(path, &there) != 0 || S_ISREG(there.st_mode)))
        return write_beside(path, book, options);
    FILE *const file = standard ? stdout : fopen(path, "w"); // a pipe or a device has nothing to keep
    if (!file)
        return cli_error("history report: %s: %s", path, strerror(errno));
    int wrong = fill(file, book, options);
    if (!standard && fclose(file) != 0 && !wrong)
        wrong = errno;
    return wrong ? cli_error("history report: %s: %s", path, strerror(wrong)) : CLI_OK;
}

static int report(const struct order *order)
{
    struct history *const history = cli_history_open(order->db, HISTORY_READ);
    if (!history)
        return CLI_USAGE;
    struct history_book book;
    int code = CLI_USAGE;
    if (history_read(history, &order->filter, &book)) {
        code = write_page(order->path, &book, &order->options);
        history_book_free(&book);
    } else {
        cli_error("history report: %s", history_message(history));
    }
    history_close(history);
    return code;
}

int cli_history_report(int argc, char **argv)
{
    struct order order = {.filter.repetitions = true};
    const struct cli_option options[] = {
        {.name = "-o", .text = &order.path},
        {.name = "--db", .text = &order.db},
        {.name = "--machine", .text = &order.filter.machine},
        {.name = "--branch", .text = &order.filter.branch},
        {.name = "--baseline", .text = &order.options.baseline},
        {.name = "--filter", .text = &order.filter.benchmark},
        {.name = "--metric", .text = &order.filter.metric},
        {.name = "--last", .whole = &order.last, .low = 1, .high = 1e9},
        {.name = "--disturbed", .flag = &order.disturbed},
        {.name = "--title", .text = &order.options.title},
        {.name = "--commit-url", .text = &order.options.commit_url},
        {.name = NULL},
    };
    const int left = cli_options("history report", help, options, argc, argv);
    if (left <= 0)
        return left < 0 ? CLI_OK : CLI_USAGE;
    if (left > 1)
        return cli_error("history report: \"%s\" is no option; -o FILE names the page", argv[1]);
    if (!order.path)
        return cli_error("history report: -o FILE is missing; --help tells more");
    if (!check_url(order.options.commit_url))
        return CLI_USAGE;
    order.filter.last = (size_t)order.last;
    order.filter.calm = !order.disturbed;
    order.options.now = (int64_t)time(NULL);
    return report(&order);
}
