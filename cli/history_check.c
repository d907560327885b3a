// SPDX-License-Identifier: Apache-2.0
// cli/history_check.c - fovea history check: the gate of a merge.
#include "cli/history.h"
#include "history/check.h"

#include <string.h>

static const char help[] = "usage: fovea history check [OPTIONS]\n\n"
                           "Finds the runs at which a series went to another level (E-divisive, with a\n"
                           "permutation test, a robust t-test and a least effect), and says which of the\n"
                           "recent ones are regressions, the worst first. One or two runs count only where\n"
                           "they lie far outside everything before.\n\n"
                           "  --db FILE          the database (default: FOVEA_HISTORY, else history.db)\n"
                           "  --branch NAME      whose runs are judged (default main)\n"
                           "  --baseline NAME    the branch whose runs come before them (default: the same)\n"
                           "  --commit NAME      judge up to the last run of this commit (default: the\n"
                           "                     newest run)\n"
                           "  --machine NAME     only this one (default all)\n"
                           "  --filter REGEX     only benchmarks whose name holds it\n"
                           "  --metric REGEX     only these metrics (default\n"
                           "                     ^(real_time|instructions|of_peak)$)\n"
                           "  --effect P         smaller changes do not count (default 3%; a third of it for\n"
                           "                     series that do not vary)\n"
                           "  --recent N         changes that began in the last N runs count (default 20)\n"
                           "  --disturbed        judge points too that fovea bench marks as disturbed (calm\n"
                           "                     0, or more than 10 % stolen)\n"
                           "  --all              print improvements and acknowledged changes too\n"
                           "  --json             everything, for machines\n\n"
                           "exit status: 0 no regression, 1 a regression, 2 wrong usage or input, 3 too\n"
                           "little data (fewer than 7 runs of every series)\n\n"
                           "examples:\n"
                           "  fovea history check --commit $(git rev-parse HEAD)\n"
                           "  fovea history check --branch my-branch --baseline main --effect 5%\n";

struct order {
    const char *db, *machine, *filter, *metric;
    uint64_t recent;
    bool all, json, disturbed;
    struct check_options check;
};

static const char *const kinds[] = {"regression", "acknowledged", "improvement"};

static void print_line(const struct history_book *book, const struct check_finding *finding, const char *mark)
{
    const struct history_change *const change = &finding->change;
    char before[CLI_FIGURE], after[CLI_FIGURE], effect[32], range[96], levels[2 * CLI_FIGURE + 8];
    const struct history_series *const s = finding->series;
    snprintf(effect, sizeof effect, "(%+.1f to %+.1f)", 100 * change->low, 100 * change->high);
    const char *const good = book->runs[finding->good].commit, *const bad = book->runs[finding->bad].commit;
    snprintf(range, sizeof range, "%.*s..%.*s", cli_commit_width(good), good, cli_commit_width(bad), bad);
    snprintf(levels, sizeof levels, "%s -> %s", cli_figure(before, change->before, s->metric, s->unit),
             cli_figure(after, change->after, s->metric, s->unit));
    printf("%+7.1f %% %-18s %9.2f %% %5zu  %-26s  %-26s  %s %s", 100 * change->effect, effect, 100 * change->confidence,
           finding->runs, range, levels, s->benchmark, s->metric);
    if (book->machine_count > 1)
        printf(" on %s", s->machine);
    printf("%s%s\n", mark, finding->jump ? " [too few runs for a test, but far outside]" : "");
}

static void print_text(const struct history_book *book, const struct check *check, bool all)
{
    static const char *const marks[] = {"", " [acknowledged]", " [better]"};
    size_t shown = 0;
    for (size_t i = 0; i < check->count; i++) {
        if (check->findings[i].kind != CHECK_REGRESSION && !all)
            continue;
        if (shown++ == 0)
            printf("%9s %-18s %11s %5s  %-26s  %-26s  %s\n", "change", "95 %", "confidence", "runs", "commits", "level",
                   "series");
        print_line(book, &check->findings[i], marks[check->findings[i].kind]);
    }
    size_t counts[] = {0, 0, 0};
    for (size_t i = 0; i < check->count; i++)
        counts[check->findings[i].kind]++;
    printf("%zu series judged, %zu too short; %zu regressions, %zu acknowledged, %zu improvements\n", check->judged,
           check->too_short, counts[0], counts[1], counts[2]);
    if (check->disturbed)
        printf("%zu points left out that the bench marks as disturbed, %zu of them of the newest run%s\n",
               check->disturbed, check->disturbed_newest, check->disturbed_newest ? ": measure it again" : "");
}

static void print_field(const char *name, const char *value)
{
    printf("\"%s\": ", name);
    cli_json_string(stdout, value);
    printf(", ");
}

static void print_json(const struct history_book *book, const struct check *check)
{
    printf(
        "{\"judged\": %zu, \"too_short\": %zu, \"disturbed\": %zu, \"disturbed_newest\": %zu, \"regressions\": %zu,\n"
        " \"changes\": [",
        check->judged, check->too_short, check->disturbed, check->disturbed_newest, check->regressions);
    for (size_t i = 0; i < check->count; i++) {
        const struct check_finding *const f = &check->findings[i];
        const struct history_change *const c = &f->change;
        printf("%s\n  {", i ? "," : "");
        print_field("kind", kinds[f->kind]);
        print_field("benchmark", f->series->benchmark);
        print_field("metric", f->series->metric);
        print_field("unit", f->series->unit);
        print_field("machine", f->series->machine);
        print_field("branch", f->series->branch);
        print_field("good", book->runs[f->good].commit);
        print_field("bad", book->runs[f->bad].commit);
        printf("\"good_run\": %lld, \"bad_run\": %lld, \"runs\": %zu, \"before\": %.9g, \"after\": %.9g,\n"
               "   \"effect\": %.6g, \"low\": %.6g, \"high\": %.6g, \"confidence\": %.6g, \"jump\": %s}",
               (long long)book->runs[f->good].id, (long long)book->runs[f->bad].id, f->runs, c->before, c->after,
               c->effect, c->low, c->high, c->confidence, f->jump ? "true" : "false");
    }
    printf("\n ]}\n");
}

static int check(struct history *history, struct order *order)
{
    const struct history_filter filter = {.machine = order->machine,
                                          .benchmark = order->filter,
                                          .metric = order->metric ? order->metric : CLI_HISTORY_METRICS,
                                          .calm = !order->disturbed};
    struct history_book book;
    struct check found;
    bool missing;
    if (!history_read(history, &filter, &book))
        return cli_error("history check: %s", history_message(history));
    int code = CLI_USAGE;
    if (!cli_commit(&book, &order->check.commit)) {
        history_book_free(&book);
        return code;
    }
    if (history_check(&book, &order->check, &found, &missing)) {
        if (order->json)
            print_json(&book, &found);
        else
            print_text(&book, &found, order->all);
        code = found.regressions ? CLI_FAILED : found.judged ? CLI_OK : CLI_TOO_LITTLE;
        check_free(&found);
    } else if (missing) {
        if (order->json)
            print_json(&book, &(struct check){0});
        code =
            cli_error("history check: no run of %s%s on branch %s%s%s", order->check.commit ? "commit " : "any commit",
                      order->check.commit ? order->check.commit : "", order->check.branch,
                      order->machine ? " of machine " : "", order->machine ? order->machine : "");
        code = order->check.commit ? code : CLI_TOO_LITTLE;
    } else {
        code = cli_error("history check: no memory");
    }
    history_book_free(&book);
    return code;
}

int cli_history_check(int argc, char **argv)
{
    struct order order = {.recent = 20, .check = {.branch = "main"}};
    const struct cli_option options[] = {
        {.name = "--db", .text = &order.db},
        {.name = "--branch", .text = &order.check.branch},
        {.name = "--baseline", .text = &order.check.baseline},
        {.name = "--commit", .text = &order.check.commit},
        {.name = "--machine", .text = &order.machine},
        {.name = "--filter", .text = &order.filter},
        {.name = "--metric", .text = &order.metric},
        {.name = "--effect", .percent = true, .number = &order.check.test.effect, .low = 1e-6, .high = 10},
        {.name = "--recent", .whole = &order.recent, .low = 1, .high = 1e6},
        {.name = "--disturbed", .flag = &order.disturbed},
        {.name = "--all", .flag = &order.all},
        {.name = "--json", .flag = &order.json},
        {.name = NULL},
    };
    const int left = cli_only_options("history check", help, options, argc, argv);
    if (left <= 0)
        return left < 0 ? CLI_OK : CLI_USAGE;
    order.check.recent = (size_t)order.recent;
    struct history *const history = cli_history_open(order.db, HISTORY_READ);
    const int code = history ? check(history, &order) : CLI_USAGE;
    history_close(history);
    return code;
}
