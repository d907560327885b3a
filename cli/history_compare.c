// SPDX-License-Identifier: Apache-2.0
// cli/history_compare.c - fovea history compare: two runs of the database; two builds of the library by turns.
#include "cli/history.h"
#include "history/compare.h"

#include <math.h>
#include <string.h>

static const char help[] = "usage: fovea history compare [OPTIONS] OLD NEW\n"
                           "       fovea history compare --lib [OPTIONS] OLD.so NEW.so\n\n"
                           "Compares two runs of the database, given as commits or as run numbers (@12):\n"
                           "medians over all repetitions, and Mann and Whitney's test, which wants 4 on both\n"
                           "sides. With --lib: loads two builds of libfovea.so into this process and\n"
                           "measures them now, by turns and on the same operands; ratios of pairs hold on a\n"
                           "noisy machine, where times do not.\n\n"
                           "  --filter REGEX     only benchmarks whose name holds it\n"
                           "  --effect P         smaller changes do not count (default 3%)\n"
                           "  --json             for machines\n"
                           "runs:\n"
                           "  --db FILE          the database (default: FOVEA_HISTORY, else history.db)\n"
                           "  --machine NAME     only this one (default all)\n"
                           "  --branch NAME      only this one (default all)\n"
                           "  --metric REGEX     only these metrics (default\n"
                           "                     ^(real_time|instructions|of_peak)$)\n"
                           "  --disturbed        points too that fovea bench marks as disturbed (calm 0, or\n"
                           "                     more than 10 % stolen)\n"
                           "builds:\n"
                           "  --seconds S        of measuring for each benchmark (default 1.5: half a minute\n"
                           "                     in all)\n\n"
                           "exit status: 0 nothing is worse, 1 something is, 2 wrong usage or input, 3 too\n"
                           "little data\n\n"
                           "examples:\n"
                           "  fovea history compare v1.0 v1.1\n"
                           "  fovea history compare --lib /usr/lib/libfovea.so build/libfovea.so \\\n"
                           "      --filter attention\n";

static void print_line(const struct compare_line *line)
{
    static const char *const words[] = {"worse", "", "better"};
    char before[CLI_FIGURE], after[CLI_FIGURE], n[32], p[16] = "";
    const struct history_series *const s = line->series;
    snprintf(n, sizeof n, "n=%zu+%zu", line->counts[0], line->counts[1]);
    if (line->enough)
        snprintf(p, sizeof p, "p=%.3f", line->p);
    printf("%+7.1f %%  %-6s %-7s %-8s %12s -> %-12s  %s %s\n", 100 * line->change, words[line->verdict + 1], p, n,
           cli_figure(before, line->medians[0], s->metric, s->unit),
           cli_figure(after, line->medians[1], s->metric, s->unit), s->benchmark, s->metric);
}

static void print_text(const struct compare *compare)
{
    for (size_t i = 0; i < compare->count; i++)
        print_line(&compare->lines[i]);
    printf("%zu figures, %zu with enough repetitions: %zu worse, %zu better; geomean of times %.4fx\n", compare->count,
           compare->judged, compare->worse, compare->better, compare->geomean);
    if (compare->disturbed)
        printf("%zu figures left out that the bench marks as disturbed: measure them again\n", compare->disturbed);
}

static void print_json(const struct compare *compare)
{
    printf("{\"worse\": %zu, \"better\": %zu, \"judged\": %zu, \"disturbed\": %zu, \"geomean\": %.6g,\n \"lines\": [",
           compare->worse, compare->better, compare->judged, compare->disturbed, compare->geomean);
    for (size_t i = 0; i < compare->count; i++) {
        const struct compare_line *const line = &compare->lines[i];
        printf("%s\n  {\"benchmark\": ", i ? "," : "");
        cli_json_string(stdout, line->series->benchmark);
        printf(", \"metric\": ");
        cli_json_string(stdout, line->series->metric);
        char change[32] = "null"; // JSON has no infinity
        if (isfinite(line->change))
            snprintf(change, sizeof change, "%.6g", line->change);
        printf(", \"old\": %.9g, \"new\": %.9g, \"change\": %s, \"p\": %.6g, \"repetitions\": [%zu, %zu], "
               "\"verdict\": %d}",
               line->medians[0], line->medians[1], change, line->p, line->counts[0], line->counts[1], line->verdict);
    }
    printf("\n ]}\n");
}

struct order {
    const char *db, *machine, *branch, *metric;
    bool lib, disturbed;
    struct cli_builds builds;
};

static int compare_runs(const struct order *order, char **names)
{
    struct history *const history = cli_history_open(order->db, HISTORY_READ);
    if (!history)
        return CLI_USAGE;
    const struct history_filter filter = {.machine = order->machine,
                                          .branch = order->branch,
                                          .benchmark = order->builds.filter,
                                          .metric = order->metric ? order->metric : CLI_HISTORY_METRICS,
                                          .repetitions = true,
                                          .calm = !order->disturbed};
    struct history_book book;
    if (!history_read(history, &filter, &book)) {
        cli_error("history compare: %s", history_message(history));
        history_close(history);
        return CLI_USAGE;
    }
    struct compare compare;
    const char *unknown;
    int code = CLI_USAGE;
    const char *pair[] = {names[0], names[1]};
    if (!cli_commit(&book, &pair[0]) || !cli_commit(&book, &pair[1])) {
        // it has been said
    } else if (history_compare(&book, pair, order->builds.effect, &compare, &unknown)) {
        (order->builds.json ? print_json : print_text)(&compare);
        code = compare.worse ? CLI_FAILED : compare.judged ? CLI_OK : CLI_TOO_LITTLE;
        compare_free(&compare);
    } else {
        code = !unknown ? cli_error("history compare: no memory")
                        : cli_error("history compare: no run of %s%s%s%s%s", unknown,
                                    order->branch ? " on branch " : "", order->branch ? order->branch : "",
                                    order->machine ? " of machine " : "", order->machine ? order->machine : "");
    }
    history_book_free(&book);
    history_close(history);
    return code;
}

int cli_history_compare(int argc, char **argv)
{
    struct order order = {.builds = {.effect = 0.03, .seconds = 1.5}};
    const struct cli_option options[] = {
        {.name = "--db", .text = &order.db},
        {.name = "--machine", .text = &order.machine},
        {.name = "--branch", .text = &order.branch},
        {.name = "--metric", .text = &order.metric},
        {.name = "--filter", .text = &order.builds.filter},
        {.name = "--effect", .percent = true, .number = &order.builds.effect, .low = 0, .high = 10},
        {.name = "--seconds", .number = &order.builds.seconds, .low = 0, .high = 3600},
        {.name = "--lib", .flag = &order.lib},
        {.name = "--disturbed", .flag = &order.disturbed},
        {.name = "--json", .flag = &order.builds.json},
        {.name = NULL},
    };
    const int left = cli_options("history compare", help, options, argc, argv);
    if (left <= 0)
        return left < 0 ? CLI_OK : CLI_USAGE;
    if (left != 3)
        return cli_error("history compare: wants two %s; --help tells more", order.lib ? "libraries" : "runs");
    return order.lib ? cli_compare_builds(&order.builds, argv + 1) : compare_runs(&order, argv + 1);
}
