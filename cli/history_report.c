// SPDX-License-Identifier: Apache-2.0
// cli/history_report.c - fovea history report: one page of the whole history.
#include "cli/history.h"
#include "history/page.h"

#include <string.h>
#include <time.h>

static const char help[] = "usage: fovea history report [OPTIONS] -o FILE\n\n"
                           "Writes one HTML page of the history: benchmarks sorted worst first, a chart of\n"
                           "each with its changes marked, two runs compared, environments. It needs no\n"
                           "network and no server, and its tables no JavaScript.\n\n"
                           "  -o FILE            the page; - is standard output\n"
                           "  --db FILE          the database (default: FOVEA_HISTORY, else history.db)\n"
                           "  --machine NAME     only this machine (the page has a choice of all otherwise)\n"
                           "  --branch NAME      only this branch\n"
                           "  --baseline NAME    the branch whose runs come before those of the others\n"
                           "                     (default: main, else master)\n"
                           "  --filter REGEX     only benchmarks whose names match this extended regular\n"
                           "                     expression\n"
                           "  --metric REGEX     only such metrics\n"
                           "  --last N           only the newest N runs of every machine and branch\n"
                           "  --disturbed        judge points too that fovea bench marks as disturbed (calm\n"
                           "                     0, or more than 10 % stolen); else they are drawn hollow\n"
                           "                     and left out\n"
                           "  --title TEXT       (default: Performance history)\n"
                           "  --commit-url URL   commits become links: their name is appended to it\n\n"
                           "exit status: 0 done, 2 wrong usage or input\n\n"
                           "examples:\n"
                           "  fovea history report -o page.html\n"
                           "  fovea history report --db perf.db --last 500 -o page.html \\\n"
                           "      --commit-url https://github.com/me/app/commit/\n";

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

struct page {
    const struct history_book *book;
    const struct page_options *options;
};

static bool fill(FILE *file, const void *arg)
{
    const struct page *const page = arg;
    return page_write(file, page->book, page->options);
}

static int report(const struct order *order)
{
    struct history *const history = cli_history_open(order->db, HISTORY_READ);
    if (!history)
        return CLI_USAGE;
    struct history_book book;
    int code = CLI_USAGE;
    if (history_read(history, &order->filter, &book)) {
        const struct page page = {&book, &order->options};
        code = cli_replace("history report", order->path, fill, &page);
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
    if (!check_url(order.options.commit_url) ||
        !cli_are_apart("history report", "-o", order.path, cli_history_path(order.db), "it is the database"))
        return CLI_USAGE;
    order.filter.last = (size_t)order.last;
    order.filter.calm = !order.disturbed;
    order.options.now = (int64_t)time(NULL);
    return report(&order);
}
