// SPDX-License-Identifier: Apache-2.0
// bench/gemm.c - the GEMM suite: its lines, and what each measures.
#include "bench/bench.h"
#include "bench/clock.h"
#include "bench/counters.h"
#include "bench/gemm_shapes.h"
#include "bench/gemm_table.h"
#include "bench/peer.h"
#include "bench/pool.h"
#include "bench/shim.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct suite {
    const struct fovea_engine *engine;
    const struct bench_options *options;
    struct bench_pool *pool;
    const char *isa;
    struct bench_fovea with;
    struct contestant fovea, peers[PEERS_MAX];
    size_t peer_count;
    int failed;
    bool headed;
    double log_sum; // of the ratios to the best peer
    size_t raced, behind;
    char text[200]; // of the line that is measured: an error, or the best peer
};

// How a shape is run.
static const struct way {
    enum gemm_way bit;
    const char *name;
    bool trans_a, trans_b, packed, gelu;
} ways[] = {
    {GEMM_NN, "plain/nn", false, false, false, false},      {GEMM_NT, "plain/nt", false, true, false, false},
    {GEMM_TN, "plain/tn", true, false, false, false},       {GEMM_TT, "plain/tt", true, true, false, false},
    {GEMM_PNN, "packed/nn", false, false, true, false},     {GEMM_PNT, "packed/nt", false, true, true, false},
    {GEMM_GELU, "packed-gelu/nt", false, true, true, true},
};
enum { WAYS = sizeof ways / sizeof *ways };

struct line {
    struct suite *suite;
    const struct gemm_shape *shape;
    const struct way *way;
    char name[96];
};

// The widest ISA of the GEMM kernels in use: so FOVEA_ISA and FOVEA_PIN choose the denominator too.
static const char *gemm_isa(const struct fovea_engine *engine, bool chosen)
{
    static const char *const order[] = {"scalar", "neon", "avx2", "avx512"};
    size_t widest = 0;
    for (uint32_t i = 0; i < fovea_engine_variants(engine); i++) {
        struct fovea_variant v;
        if (fovea_engine_variant(engine, i, &v) != FOVEA_OK || strncmp(v.slot, "gemm", 4) != 0)
            continue;
        const bool counts = chosen ? v.chosen : strstr(fovea_engine_machine(engine)->features, v.isa) != NULL;
        for (size_t j = widest + 1; j < sizeof order / sizeof *order && counts; j++)
            widest = strcmp(v.isa, order[j]) == 0 ? j : widest;
    }
    return order[widest];
}

static void fail(const struct line *line, struct bench_result *result, const char *who, double error)
{
    struct suite *const suite = line->suite;
    if (error != 0)
        snprintf(suite->text, sizeof suite->text, "%s: WRONG RESULT, %.3g times the error allowed", who, error);
    else
        snprintf(suite->text, sizeof suite->text, "%s: refused, or no memory", who);
    result->error = suite->text;
    suite->failed++;
    if (!suite->options->json)
        printf("%-42s %s\n", line->name, suite->text);
}

static void report_pace(const struct line *line, const struct gemm_problem *problem, const struct pace *pace,
                        struct bench_result *result)
{
    const double gflops = 1e-9 * gemm_problem_flops(problem) / pace->seconds;
    bench_count_pace(result, gflops, pace);
    if (!line->suite->options->json)
        gemm_table_pace(line->name, gflops, pace);
}

// The same product without its epilogue: what bias and GELU cost.
static void race_epilogue(const struct line *line, struct racer *fovea, struct track *track,
                          struct bench_result *result)
{
    enum { PAIRS = 31 };
    struct gemm_problem bare = *track->problem;
    struct track bare_track = *track;
    struct racer plain;
    double error;
    bare.gelu = false;
    bare_track.problem = &bare;
    bare_track.load = race_gemm_load(&bare);
    if (!racer_start(&plain, &line->suite->fovea, true, &bare_track, &error))
        return;
    const struct bench_interval over = race_pairs(&plain, fovea, track, PAIRS);
    bench_count(result, "over_plain", over.median);
    bench_count(result, "over_plain_low", over.low);
    bench_count(result, "over_plain_high", over.high);
    if (!line->suite->options->json)
        gemm_table_epilogue(&over);
    racer_end(&plain);
}

static void race_line(const struct line *line, struct racer *fovea, struct track *track, struct bench_result *result)
{
    struct suite *const suite = line->suite;
    const struct versus versus = race_peers(fovea, suite->peers, suite->peer_count, track);
    if (versus.wrong >= 0) {
        suite->failed++;
        fprintf(stderr, "fovea: bench: %s: %s is wrong, and does not count\n", line->name,
                suite->peers[versus.wrong].name);
    }
    if (versus.best < 0)
        return;
    suite->log_sum += log(versus.ratio.median);
    suite->raced++;
    suite->behind += versus.ratio.median < 0.97 || versus.ratio.high < 1;
    bench_count(result, "vs_best_peer", versus.ratio.median);
    bench_count(result, "vs_best_peer_low", versus.ratio.low);
    bench_count(result, "vs_best_peer_high", versus.ratio.high);
    bench_count(result, "peer", versus.best);
    snprintf(suite->text, sizeof suite->text, "%s; best peer: %s%s", line->shape->model, suite->peers[versus.best].name,
             versus.packed ? ", packed" : "");
    result->label = suite->text;
    if (!suite->options->json)
        gemm_table_versus(&versus, suite->peers[versus.best].name);
}

static void run_line(const struct line *line, const struct gemm_problem *problem, struct bench_result *result)
{
    struct suite *const suite = line->suite;
    struct track track = {problem, bench_pool_executor(suite->pool), suite->isa, race_gemm_load(problem), 0};
    struct racer fovea;
    double error;
    if (!racer_start(&fovea, &suite->fovea, line->way->packed, &track, &error)) {
        fail(line, result, "fovea", error);
        return;
    }
    if (suite->options->untimed) {
        suite->failed += !bench_untimed(result, line->name, &fovea, suite->options);
        racer_end(&fovea);
        return;
    }
    const struct bench_ticks before = bench_ticks();
    const struct pace pace = race_alone(&fovea, &track, suite->options->min_time);
    result->calls = pace.samples * fovea.calls;
    report_pace(line, problem, &pace, result);
    const uint64_t instructions = bench_count_instructions(result, &fovea, suite->options);
    if (problem->gelu)
        race_epilogue(line, &fovea, &track, result);
    else if (suite->peer_count)
        race_line(line, &fovea, &track, result);
    const double stolen = bench_stolen_since(before);
    bench_count(result, "stolen", stolen);
    if (!suite->options->json) {
        gemm_table_instructions(instructions);
        gemm_table_end(pace.calm <= 0, stolen);
    }
    racer_end(&fovea);
}

static void measure(void *arg, struct bench_result *result)
{
    const struct line *const line = arg;
    struct suite *const suite = line->suite;
    const struct fovea_machine *const machine = fovea_engine_machine(suite->engine);
    if (!suite->headed && !suite->options->json && !suite->options->untimed)
        gemm_table_head(machine->brand, suite->isa, bench_pool_executor(suite->pool), suite->peer_count > 0);
    suite->headed = true;
    struct gemm_problem problem = {.m = line->shape->m,
                                   .n = line->shape->n,
                                   .k = line->shape->k,
                                   .batch = line->shape->batch,
                                   .trans_a = line->way->trans_a,
                                   .trans_b = line->way->trans_b,
                                   .gelu = line->way->gelu,
                                   .threads = suite->options->threads};
    result->label = line->shape->model;
    if (gemm_problem_make(&problem, machine->l3_bytes ? machine->l3_bytes : machine->l2_bytes))
        run_line(line, &problem, result);
    else
        fail(line, result, "operands", 0);
    gemm_problem_free(&problem);
    fflush(stdout);
}

static bool in_suite(const struct gemm_shape *shape, enum bench_suite suite)
{
    return suite == BENCH_SMOKE ? shape->suite == BENCH_SMOKE : shape->suite != BENCH_SMOKE && shape->suite <= suite;
}

static bool chosen(const struct suite *suite, const regex_t *filter, const struct line *line)
{
    const bool inverted = suite->options->filter && *suite->options->filter == '-';
    return !filter || (regexec(filter, line->name, 0, NULL, 0) == 0) != inverted;
}

// Registers the lines that the filter (NULL: all) leaves and returns how many.
static size_t add_lines(struct suite *suite, const regex_t *filter, struct line *lines)
{
    size_t used = 0;
    for (size_t i = 0; i < gemm_shapes_count; i++)
        for (size_t w = 0; w < WAYS; w++) {
            const struct gemm_shape *const s = &gemm_shapes[i];
            if (!in_suite(s, suite->options->suite) || !(s->ways & ways[w].bit))
                continue;
            struct line *const line = &lines[used];
            *line = (struct line){.suite = suite, .shape = s, .way = &ways[w]};
            char batch[24] = "";
            if (s->batch > 1)
                snprintf(batch, sizeof batch, "%zux", s->batch);
            snprintf(line->name, sizeof line->name, "gemm/f32/%s/%s%zux%zux%zu", ways[w].name, batch, s->m, s->n, s->k);
            if (chosen(suite, filter, line)) {
                bench_register(line->name, measure, line);
                used++;
            }
        }
    return used;
}

static void add_context(const struct suite *suite)
{
    char text[32];
    bench_context("fovea", fovea_version());
    bench_context("cpu", fovea_engine_machine(suite->engine)->brand);
    bench_context("isa", suite->isa);
    snprintf(text, sizeof text, "%u", suite->options->threads);
    bench_context("threads", text);
    for (size_t i = 0; i < suite->peer_count; i++) {
        snprintf(text, sizeof text, "peer_%zu", i);
        bench_context(text, suite->peers[i].name);
    }
}

static void load_peers(struct suite *suite)
{
    const struct peer_request request = {suite->isa, strcmp(suite->isa, gemm_isa(suite->engine, false)) == 0,
                                         suite->options->threads};
    suite->peer_count = peers_load(&request, suite->peers, suite->options->json ? stderr : stdout);
}

// What the whole suite comes to.
static void print_summary(const struct suite *suite)
{
    if (suite->raced && !suite->options->json)
        printf("%zu lines against the best peer: geomean %.3fx; %zu below 0.97x or with an interval below 1\n",
               suite->raced, exp(suite->log_sum / (double)suite->raced), suite->behind);
}

static int run_suite(struct suite *suite, const regex_t *filter)
{
    struct line *const lines = calloc(gemm_shapes_count * WAYS, sizeof *lines);
    suite->pool = bench_pool_start(suite->options->threads);
    size_t count = 0;
    if (lines && suite->pool) {
        suite->with.engine = suite->engine;
        suite->with.executor = suite->options->threads > 1 ? bench_pool_executor(suite->pool) : NULL;
        suite->fovea = bench_fovea(&suite->with);
        count = add_lines(suite, filter, lines);
        if (count && suite->options->peers)
            load_peers(suite);
        add_context(suite);
        if (count)
            bench_run(suite->options->json);
        print_summary(suite);
    } else {
        fprintf(stderr, "fovea: bench: no memory or no threads\n");
        suite->failed = 1;
        count = 1;
    }
    bench_pool_stop(suite->pool);
    free(lines);
    return count ? suite->failed : -1;
}

int bench_gemm(const struct fovea_engine *engine, const struct bench_options *options)
{
    struct suite suite = {.engine = engine, .options = options, .isa = gemm_isa(engine, true)};
    if (!options->filter)
        return run_suite(&suite, NULL);
    regex_t filter;
    if (regcomp(&filter, options->filter + (*options->filter == '-'), REG_EXTENDED | REG_NOSUB) != 0)
        return -1;
    const int failed = run_suite(&suite, &filter);
    regfree(&filter);
    return failed;
}
