// SPDX-License-Identifier: Apache-2.0
// bench/attention.c - the attention suite: its lines, and what each measures.
#include "bench/attention_problem.h"
#include "bench/bench.h"
#include "bench/clock.h"
#include "bench/counters.h"
#include "bench/gemm_table.h"
#include "bench/pool.h"
#include "bench/shim.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    enum attention_kind bit;
    const char *name;
} kinds[] = {
    {ATTENTION_FULL, "full"},
    {ATTENTION_CAUSAL, "causal"},
    {ATTENTION_PADDED, "padded"},
    {ATTENTION_WINDOW, "window"},
    {ATTENTION_MASK, "mask"},
    {ATTENTION_SOFTCAP, "softcap"},
    {ATTENTION_ALIBI, "alibi"},
    {ATTENTION_DROPOUT, "dropout"},
    {ATTENTION_STATISTICS, "statistics"},
    {ATTENTION_DECODE, "decode"},
    {ATTENTION_DECODE_ROWS, "decode-rows"},
    {ATTENTION_DECODE_MASK, "decode-mask"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct suite {
    const struct fovea_engine *engine;
    const struct bench_options *options;
    struct bench_pool *pool;
    const char *isa;
    bool headed;
    int failed;
};

struct line {
    struct suite *suite;
    const struct attention_shape *shape;
    enum attention_kind kind;
    char name[96];
};

// The ISA of the prefill kernel in use: so FOVEA_ISA and FOVEA_PIN choose the denominator too.
static const char *isa_in_use(const struct fovea_engine *engine)
{
    for (uint32_t i = 0; i < fovea_engine_variants(engine); i++) {
        struct fovea_variant v;
        if (fovea_engine_variant(engine, i, &v) == FOVEA_OK && strcmp(v.slot, "attention_prefill") == 0 && v.chosen)
            return v.isa;
    }
    return "scalar";
}

static void report(const struct line *line, const struct race_load *load, const struct pace *pace, double stolen,
                   uint64_t instructions, struct bench_result *result)
{
    const double gflops = 1e-9 * load->flops / pace->seconds;
    bench_count_pace(result, gflops, pace);
    bench_count(result, "stolen", stolen);
    if (!line->suite->options->json) {
        gemm_table_pace(line->name, gflops, pace);
        gemm_table_instructions(instructions);
        gemm_table_end(pace->calm <= 0, stolen);
    }
}

static void fail(const struct line *line, struct bench_result *result, const char *what)
{
    result->error = what;
    line->suite->failed++;
    if (!line->suite->options->json)
        printf("%-42s %s\n", line->name, what);
}

static void run_line(const struct line *line, struct attention_problem *problem, struct bench_result *result)
{
    static const struct contestant fovea = {.name = "fovea", .run = attention_problem_run};
    struct suite *const suite = line->suite;
    struct racer racer = {.who = &fovea, .prepared = problem};
    struct track track = {.executor = bench_pool_executor(suite->pool),
                          .isa = suite->isa,
                          .load = attention_problem_load(problem, suite->options->threads)};
    attention_problem_run(problem, 0);
    if (!attention_problem_check(problem)) {
        fail(line, result, "WRONG RESULT");
        return;
    }
    if (suite->options->untimed) {
        suite->failed += !bench_untimed(result, line->name, &racer, suite->options);
        return;
    }
    racer_pace(&racer, &track);
    const struct bench_ticks before = bench_ticks();
    const struct pace pace = race_alone(&racer, &track, suite->options->min_time);
    result->calls = pace.samples * racer.calls;
    const double stolen = bench_stolen_since(before);
    report(line, &track.load, &pace, stolen, bench_count_instructions(result, &racer, suite->options), result);
}

static void measure(void *arg, struct bench_result *result)
{
    const struct line *const line = arg;
    struct suite *const suite = line->suite;
    const struct fovea_machine *const machine = fovea_engine_machine(suite->engine);
    const struct fovea_executor *const executor = bench_pool_executor(suite->pool);
    if (!suite->headed && !suite->options->json && !suite->options->untimed)
        gemm_table_head(machine->brand, suite->isa, executor, false);
    suite->headed = true;
    struct attention_problem problem = {
        .shape = line->shape, .kind = line->kind, .executor = suite->options->threads > 1 ? executor : NULL};
    result->label = line->shape->model;
    if (attention_problem_make(&problem, suite->engine, machine->l3_bytes ? machine->l3_bytes : machine->l2_bytes))
        run_line(line, &problem, result);
    else
        fail(line, result, "refused, or no memory");
    attention_problem_free(&problem);
    fflush(stdout);
}

static bool in_suite(const struct attention_shape *shape, enum bench_suite suite)
{
    return suite == BENCH_SMOKE ? shape->suite == BENCH_SMOKE : shape->suite != BENCH_SMOKE && shape->suite <= suite;
}

// Registers the lines that the filter (NULL: all) leaves and returns how many.
static size_t add_lines(struct suite *suite, const regex_t *filter, struct line *lines)
{
    const bool inverted = suite->options->filter && *suite->options->filter == '-';
    size_t used = 0;
    for (size_t i = 0; i < attention_shapes_count; i++)
        for (size_t k = 0; k < KINDS; k++) {
            const struct attention_shape *const s = &attention_shapes[i];
            if (!in_suite(s, suite->options->suite) || !(s->kinds & kinds[k].bit))
                continue;
            struct line *const line = &lines[used];
            *line = (struct line){.suite = suite, .shape = s, .kind = kinds[k].bit};
            snprintf(line->name, sizeof line->name, "attention/f32/%s/%zu,%zu,%zu,%zu,%zu,%zu", kinds[k].name, s->batch,
                     s->heads, s->kv_heads, s->q_len, s->kv_len, s->dim);
            if (!filter || (regexec(filter, line->name, 0, NULL, 0) == 0) != inverted) {
                bench_register(line->name, measure, line);
                used++;
            }
        }
    return used;
}

static int run_suite(struct suite *suite, const regex_t *filter)
{
    struct line *const lines = calloc(attention_shapes_count * KINDS, sizeof *lines);
    suite->pool = bench_pool_start(suite->options->threads);
    size_t lines_count = 1;
    if (lines && suite->pool) {
        char threads[32];
        snprintf(threads, sizeof threads, "%u", suite->options->threads);
        bench_context("fovea", fovea_version());
        bench_context("cpu", fovea_engine_machine(suite->engine)->brand);
        bench_context("isa", suite->isa);
        bench_context("threads", threads);
        lines_count = add_lines(suite, filter, lines);
        if (lines_count)
            bench_run(suite->options->json);
    } else {
        fprintf(stderr, "fovea: bench: no memory or no threads\n");
        suite->failed = 1;
    }
    bench_pool_stop(suite->pool);
    free(lines);
    return lines_count ? suite->failed : -1;
}

int bench_attention(const struct fovea_engine *engine, const struct bench_options *options)
{
    struct suite suite = {.engine = engine, .options = options, .isa = isa_in_use(engine)};
    regex_t filter;
    if (!options->filter)
        return run_suite(&suite, NULL);
    if (regcomp(&filter, options->filter + (*options->filter == '-'), REG_EXTENDED | REG_NOSUB) != 0)
        return -1;
    const int failed = run_suite(&suite, &filter);
    regfree(&filter);
    return failed;
}
