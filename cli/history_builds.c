// SPDX-License-Identifier: Apache-2.0
// cli/history_builds.c - fovea history compare --lib: two builds of the library, measured now.
#include "cli/history.h"
#include "history/duel.h"

#include <regex.h>
#include <stdlib.h>

static void fill(float *values, size_t count)
{
    uint64_t random = 1;
    for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; // Knuth's MMIX generator
        values[i] = (float)((int64_t)(random >> 40) - (1 << 23)) / (float)(1 << 23);
    }
}

static const char *verdict(const struct duel_result *result, double effect)
{
    if (result->ratio >= 1 + effect && result->low > 1)
        return "worse";
    return result->ratio <= 1 / (1 + effect) && result->high < 1 ? "better" : "";
}

static void print_case(const struct cli_builds *builds, const struct duel_case *with, const struct duel_result *result,
                       size_t index)
{
    char old[CLI_FIGURE], new[CLI_FIGURE];
    const char *const word = verdict(result, builds->effect);
    if (builds->json) {
        printf("%s\n  {\"benchmark\": \"%s\", \"old\": %.9g, \"new\": %.9g, \"ratio\": %.6g, \"low\": %.6g, "
               "\"high\": %.6g, \"pairs\": %zu, \"same_bits\": %s, \"verdict\": %d}",
               index ? "," : "", with->name, result->seconds[0], result->seconds[1], result->ratio, result->low,
               result->high, result->pairs, result->same_bits ? "true" : "false",
               *word == 'w'   ? -1
               : *word == 'b' ? 1
                              : 0);
        return;
    }
    printf("%-36s %11s %11s  %6.3fx (%.3f-%.3f) %4zu  %s%s\n", with->name,
           cli_figure(old, result->seconds[0], "real_time", "s"), cli_figure(new, result->seconds[1], "real_time", "s"),
           result->ratio, result->low, result->high, result->pairs, word,
           result->same_bits ? "" : " [not the same bits]");
    fflush(stdout);
}

static int run_cases(const struct cli_builds *builds, struct library looks[2][2], const struct duel_operands *operands,
                     const regex_t *filter)
{
    size_t chosen = 0, measured = 0, worse = 0;
    if (!builds->json)
        printf("%-36s %11s %11s  %7s %-13s %4s\n", "name", "old", "new", "time", "95 %", "pairs");
    else
        printf("{\"cases\": [");
    for (size_t i = 0; i < duel_cases_count; i++) {
        const struct duel_case *const with = &duel_cases[i];
        struct duel_result result;
        if (filter && regexec(filter, with->name, 0, NULL, 0) != 0)
            continue;
        chosen++;
        bool done = duel_run(with, looks[0], operands, builds->seconds, &result);
        if (done && *verdict(&result, builds->effect)) // a difference is measured twice before it is believed
            done = duel_run(with, looks[1], operands, builds->seconds, &result);
        if (!done) {
            if (!builds->json)
                printf("%-36s not in both builds\n", with->name);
            continue;
        }
        print_case(builds, with, &result, measured++);
        worse += *verdict(&result, builds->effect) == 'w';
    }
    if (builds->json)
        printf("\n ], \"worse\": %zu}\n", worse);
    else
        printf("%zu of %zu benchmarks measured, %zu worse\n", measured, chosen, worse);
    if (chosen == 0)
        return cli_error("history compare: no benchmark matches \"%s\"", builds->filter);
    return worse ? CLI_FAILED : measured ? CLI_OK : CLI_TOO_LITTLE;
}

static int run(const struct cli_builds *builds, struct library looks[2][2])
{
    float *const in = malloc(DUEL_IN * sizeof *in), *const out = malloc(DUEL_OUT * sizeof *out);
    regex_t filter;
    int code;
    if (!in || !out) {
        code = cli_error("history compare: no memory");
    } else if (builds->filter && regcomp(&filter, builds->filter, REG_EXTENDED | REG_NOSUB) != 0) {
        code = cli_error("history compare: \"%s\" is no regular expression", builds->filter);
    } else {
        const struct duel_operands operands = {in, out};
        fill(in, DUEL_IN);
        code = run_cases(builds, looks, &operands, builds->filter ? &filter : NULL);
        if (builds->filter)
            regfree(&filter);
    }
    free(in);
    free(out);
    return code;
}

int cli_compare_builds(const struct cli_builds *builds, char **paths)
{
    // Both builds for a second look, too, loaded in the other order: where code lies may cost as much as what is looked
    // for (a build against itself on a Cascade Lake, softmax: 1.043 in 400 pairs, and 1.000 in six other runs).
    static const struct {
        int look, side;
    } order[] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}};
    struct library looks[2][2] = {{{0}}};
    char message[400];
    bool open = true;
    for (size_t i = 0; i < sizeof order / sizeof *order && open; i++)
        open = library_open(&looks[order[i].look][order[i].side], paths[order[i].side], message, sizeof message);
    int code = CLI_USAGE;
    if (open)
        code = run(builds, looks);
    else
        cli_error("history compare: %s", message);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        library_close(&looks[order[i].look][order[i].side]);
    return code;
}
