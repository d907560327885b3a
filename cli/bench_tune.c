// SPDX-License-Identifier: Apache-2.0
// cli/bench_tune.c - fovea bench tune: the tuning profile against the defaults, on shapes it was not tuned on.
#include "cli/tune.h"
#include "tune/held_out.h"

#include <math.h>

static const char help[] = "usage: fovea bench tune [OPTIONS]\n\n"
                           "Pairs of the same product with the defaults (level estimate) and with the tuning\n"
                           "profile, one after the other and the other way round, on shapes that nothing was\n"
                           "tuned on: how many times faster is the profile? Medians with 95 % intervals;\n"
                           "pairs beside which another program disturbed the core do not count.\n\n"
                           "  --profile FILE  instead of the profile that programs find\n"
                           "  --against FILE  instead of the defaults: another profile (a profile brings its\n"
                           "                  own caches)\n"
                           "  --best S        also against the best of the whole space for each shape,\n"
                           "                  searched S seconds each\n"
                           "  --pairs N       7 to 63 (default 15)\n"
                           "  --json          an array of objects\n\n"
                           "examples:\n"
                           "  fovea tune && fovea bench tune\n"
                           "  fovea bench tune --profile second --against first\n";

struct arguments {
    const char *profile, *against;
    double best;
    uint64_t pairs;
    bool json;
};

// The engine a file describes; NULL: what programs get (found), or the defaults.
static struct fovea_engine *engine_of(const char *path, bool found)
{
    static struct fovea_profile profile;
    char why[FOVEA_PROFILE_WHY];
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.workers = 1; // all three: the cases have no executor
    struct fovea_engine *engine = NULL;
    if (!path)
        return found ? cli_engine(1) : cli_tune_engine();
    if (!tune_load(path, NULL, &profile, why))
        cli_error("bench: %s: %s", path, why);
    else if (fovea_engine_create_with(&options, &profile, &engine) != FOVEA_OK)
        cli_error("bench: %s: no engine with it", path);
    return engine;
}

struct sums {
    double log_gain, worst, log_best, worst_best;
    uint32_t count, best_count;
};

static void print_line(const struct arguments *a, const struct tune_versus *v, const struct tune_versus *best,
                       bool first)
{
    if (a->json) {
        printf("%s\n {\"name\": \"%s\", \"measured\": %s", first ? "" : ",", v->name, v->ok ? "true" : "false");
        if (v->ok)
            printf(", \"gain\": %.4f, \"low\": %.4f, \"high\": %.4f, \"calm\": %.2f, \"same\": %s", v->ratio.median,
                   v->ratio.low, v->ratio.high, v->calm, v->same ? "true" : "false");
        if (best && best->ok)
            printf(", \"of_best\": %.4f, \"of_best_low\": %.4f, \"of_best_high\": %.4f", 1 / best->ratio.median,
                   1 / best->ratio.high, 1 / best->ratio.low);
        printf("}");
        return;
    }
    if (!v->ok) {
        printf("%-36s too disturbed: %u calm pairs\n", v->name, v->pairs);
        return;
    }
    if (v->same)
        printf("%-36s      1   (the same plan)", v->name);
    else
        printf("%-36s %6.3fx (%.3f-%.3f)   ", v->name, v->ratio.median, v->ratio.low, v->ratio.high);
    if (best && best->ok)
        printf("   %6.3f of the best (%.3f-%.3f)", 1 / best->ratio.median, 1 / best->ratio.high, 1 / best->ratio.low);
    putchar('\n');
}

// What the profile changes of the defaults, or of the other profile, and the best of it.
static void print_choices(const struct arguments *a, const struct fovea_engine *const engines[3],
                          const struct tune_held_out *shape)
{
    const char *const names[] = {a->against ? "against -> profile" : "default -> profile", "profile -> best"};
    for (int i = 0; i < 2; i++) {
        uint32_t class;
        char words[CLI_TUNE_WORDS];
        const struct fovea_tuned from = tune_choice(engines[i], shape, &class),
                                 to = tune_choice(engines[i + 1], shape, &class);
        cli_tune_changes(class, &from, &to, words, sizeof words);
        if (*words)
            printf("    %-18s  %s\n", names[i], words);
    }
}

static void add(struct sums *sums, const struct tune_versus *v, const struct tune_versus *best)
{
    if (v->ok) {
        sums->log_gain += log(v->ratio.median);
        sums->worst = fmin(sums->worst, v->ratio.median);
        sums->count++;
    }
    if (best && best->ok) {
        sums->log_best -= log(best->ratio.median);
        sums->worst_best = fmin(sums->worst_best, 1 / best->ratio.median);
        sums->best_count++;
    }
}

static void bench(const struct arguments *a, const struct fovea_engine *base, const struct fovea_engine *tuned)
{
    struct sums sums = {.worst = INFINITY, .worst_best = INFINITY};
    if (a->json)
        printf("[");
    else
        printf("%-36s %7s\n", "", "gain");
    for (size_t i = 0; i < tune_held_out_count && !cli_stop && !ferror(stdout); i++) {
        const struct tune_held_out *const shape = &tune_held_out[i];
        const struct tune_versus v = tune_compare(base, tuned, shape, (uint32_t)a->pairs);
        struct fovea_engine *const best = a->best > 0 ? tune_best_engine(tuned, shape, a->best) : NULL;
        struct tune_versus of_best = {.ok = false};
        if (best)
            of_best = tune_compare(tuned, best, shape, (uint32_t)a->pairs);
        print_line(a, &v, &of_best, i == 0);
        const struct fovea_engine *const engines[3] = {base, tuned, best};
        if (best && !a->json)
            print_choices(a, engines, shape);
        fovea_engine_destroy(best);
        add(&sums, &v, &of_best);
        fflush(stdout);
    }
    if (a->json)
        printf("\n]\n");
    else if (sums.count)
        printf("geometric mean of %u: %.3fx, the smallest %.3fx\n", sums.count, exp(sums.log_gain / sums.count),
               sums.worst);
    if (!a->json && sums.best_count)
        printf("of the best of %u: mean %.3f, the smallest %.3f\n", sums.best_count,
               exp(sums.log_best / sums.best_count), sums.worst_best);
}

int cli_bench_tune(int argc, char **argv)
{
    enum { PAIRS_MIN = 7, PAIRS_MAX = 63 };
    struct arguments a = {.pairs = 15};
    const struct cli_option options[] = {
        {.name = "--profile", .text = &a.profile},
        {.name = "--against", .text = &a.against},
        {.name = "--best", .number = &a.best, .low = 0.001, .high = 1e6},
        {.name = "--pairs", .whole = &a.pairs, .low = PAIRS_MIN, .high = PAIRS_MAX},
        {.name = "--json", .flag = &a.json},
        {.name = NULL},
    };
    const int left = cli_only_options("bench tune", help, options, argc, argv);
    if (left <= 0)
        return left < 0 ? CLI_OK : CLI_USAGE;
    struct fovea_engine *const base = engine_of(a.against, false), *const tuned =
                                                                       base ? engine_of(a.profile, true) : NULL;
    if (tuned) {
        cli_catch_stops("\nfovea: bench tune: ends after this product; once more: at once\n");
        bench(&a, base, tuned);
        cli_end_as_asked();
    }
    fovea_engine_destroy(base);
    fovea_engine_destroy(tuned);
    return tuned ? CLI_OK : CLI_USAGE;
}
