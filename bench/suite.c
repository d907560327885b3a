// SPDX-License-Identifier: Apache-2.0
// bench/suite.c - a suite from its filter to its last line, the same for products, attention and layers.
#include "bench/suite.h"
#include "bench/clock.h"
#include "bench/counters.h"
#include "bench/memory.h"
#include "bench/pool.h"
#include "bench/probe.h"
#include "bench/table.h"
#include "fovea/attention.h"

#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// The widest ISA of the suite's kernels, chosen or possible: so FOVEA_ISA and FOVEA_PIN choose the denominator too.
static const char *isa_of(const struct fovea_engine *engine, const char *slot, bool chosen)
{
    static const char *const order[] = {"scalar", "neon", "avx2", "avx512"};
    size_t widest = 0;
    for (uint32_t i = 0; i < fovea_engine_variants(engine); i++) {
        struct fovea_variant v;
        if (fovea_engine_variant(engine, i, &v) != FOVEA_OK || strncmp(v.slot, slot, strlen(slot)) != 0)
            continue;
        const bool counts = chosen ? v.chosen : strstr(fovea_engine_machine(engine)->features, v.isa) != NULL;
        for (size_t j = widest + 1; j < sizeof order / sizeof *order && counts; j++)
            widest = strcmp(v.isa, order[j]) == 0 ? j : widest;
    }
    return order[widest];
}

size_t suite_walk_bytes(const struct suite *suite)
{
    const struct fovea_machine *const machine = fovea_engine_machine(suite->engine);
    if (suite->options->untimed)
        return 0;
    return bench_walk_bytes(machine->l3_bytes ? machine->l3_bytes : machine->l2_bytes);
}

const struct fovea_executor *suite_executor(const struct suite *suite)
{
    return suite->options->threads > 1 ? bench_pool_executor(suite->pool) : NULL;
}

static void fail(const struct suite_line *line, struct bench_result *result, const char *who, double error)
{
    struct suite *const suite = line->suite;
    if (error != 0)
        snprintf(suite->text, sizeof suite->text, "%s: WRONG RESULT, %.3g times the error allowed", who, error);
    else
        snprintf(suite->text, sizeof suite->text, "%s: refused, or no memory", who);
    result->error = suite->text;
    suite->failed++;
    if (!suite->options->json)
        table_error(line->name, suite->text);
}

static void report_pace(const struct suite_line *line, const struct racer *fovea, const struct track *track,
                        const struct pace *pace, struct bench_result *result)
{
    const double gflops = 1e-9 * track->load.flops / pace->seconds;
    const size_t work_bytes = racer_work_bytes(fovea);
    result->calls = pace->samples * fovea->calls;
    bench_count_pace(result, gflops, pace);
    bench_count(result, "work_bytes", (double)work_bytes);
    if (pace->stream > 0)
        line->suite->stream_rate = (double)track->load.stream_bytes / pace->seconds / pace->stream;
    if (!line->suite->options->json)
        table_pace(line->name, gflops, pace, work_bytes);
}

static void race_line(const struct suite_line *line, struct racer *fovea, struct track *track,
                      struct bench_result *result)
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
    suite->behind += versus_is_behind(&versus.ratio);
    bench_count(result, "vs_best_peer", versus.ratio.median);
    bench_count(result, "vs_best_peer_low", versus.ratio.low);
    bench_count(result, "vs_best_peer_high", versus.ratio.high);
    bench_count(result, "peer", versus.best);
    if (versus.work_bytes)
        bench_count(result, "peer_work_bytes", (double)versus.work_bytes);
    snprintf(suite->text, sizeof suite->text, "%s; best peer: %s%s", line->model, suite->peers[versus.best].name,
             versus.packed ? ", packed" : "");
    result->label = suite->text;
    if (!suite->options->json)
        table_versus(&versus, suite->peers[versus.best].name);
}

void suite_run_line(const struct suite_line *line, const struct suite_way *way, struct bench_result *result)
{
    struct suite *const suite = line->suite;
    struct track track = {way->problem, bench_pool_executor(suite->pool), suite->isa, way->load, 0};
    struct racer fovea;
    double error;
    if (!racer_start(&fovea, &suite->fovea, way->packed, &track, &error)) {
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
    report_pace(line, &fovea, &track, &pace, result);
    const uint64_t instructions = bench_count_instructions(result, &fovea, suite->options);
    if (way->compare)
        way->compare(line, &fovea, &track, result);
    else if (suite->peer_count)
        race_line(line, &fovea, &track, result);
    const double stolen = bench_stolen_since(before);
    const bool alone = suite->options->threads == 1; // the time of several is the wall's
    const double interrupted = alone ? bench_interrupted(suite->isa) : 0;
    bench_count(result, "stolen", stolen);
    if (alone)
        bench_count(result, "interrupted", interrupted);
    if (!suite->options->json) {
        table_instructions(instructions);
        table_end(pace.calm <= 0 || pace.peak.median > 1, stolen, interrupted);
    }
    racer_end(&fovea);
}

static void measure(void *arg, struct bench_result *result)
{
    const struct suite_line *const line = arg;
    struct suite *const suite = line->suite;
    result->left_out = (suite->options->stop && *suite->options->stop) || ferror(stdout);
    if (result->left_out)
        return;
    if (suite->done++ == 0 && !suite->options->json && !suite->options->untimed)
        table_head(fovea_engine_machine(suite->engine)->brand, suite->isa, bench_pool_executor(suite->pool),
                   suite->peer_count > 0);
    result->label = line->model;
    suite->stream_rate = NAN;
    if (!suite->kind->measure(line, result))
        fail(line, result, "operands", 0);
    picture_add(&suite->picture, line, result);
    fflush(stdout);
}

void suite_offer(struct suite *suite, const struct suite_line *line, enum bench_suite first)
{
    const struct bench_options *const options = suite->options;
    const bool inverted = options->filter && *options->filter == '-';
    if (options->names) // whatever the set
        first = options->suite;
    if (options->suite == BENCH_SMOKE ? first != BENCH_SMOKE : first == BENCH_SMOKE || first > options->suite)
        return;
    if (suite->filter && (regexec(suite->filter, line->name, 0, NULL, 0) == 0) == inverted)
        return;
    struct suite_line *const added = &suite->lines[suite->line_count++];
    *added = *line;
    added->suite = suite;
    bench_register(added->name, measure, added);
}

const char *suite_behind(const char *name, const char *way)
{
    const size_t length = strlen(way);
    return strncmp(name, way, length) == 0 && name[length] == '/' ? name + length + 1 : NULL;
}

size_t suite_read_sizes(const char *text, char between, size_t sizes[SUITE_SIZES])
{
    size_t count = 0;
    while (count < SUITE_SIZES) {
        size_t size = 0;
        const char *const begin = text;
        for (; *text >= '0' && *text <= '9' && size <= (size_t)1 << 31; text++)
            size = 10 * size + (size_t)(*text - '0');
        if (text == begin || size == 0 || size > (size_t)1 << 31)
            return 0;
        sizes[count++] = size;
        if (*text == '\0')
            return count;
        if (*text++ != between)
            return 0;
    }
    return 0;
}

bool suite_refuse(struct suite *suite, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(suite->text, sizeof suite->text, format, arguments);
    va_end(arguments);
    return false;
}

bool suite_fits(struct suite *suite, double elements)
{
    const double most = 0x1p40; // products of sizes stay far below 64 bits
    return elements < most || suite_refuse(suite, "%.3g elements are too many", elements);
}

bool suite_has_heads(struct suite *suite, size_t heads, size_t kv_heads, size_t dim)
{
    const size_t most = FOVEA_ATTENTION_DIM_MAX;
    if (heads % kv_heads != 0)
        return suite_refuse(suite, "%zu heads are no multiple of %zu key heads", heads, kv_heads);
    return dim <= most || suite_refuse(suite, "heads of %zu elements, more than %zu", dim, most);
}

// The lines that were asked for by name, with or without what all names begin with.
static bool offer_names(struct suite *suite)
{
    const struct bench_options *const options = suite->options;
    const char *const prefix = suite->kind->prefix;
    for (size_t i = 0; i < options->name_count; i++) {
        const char *const name = options->names[i];
        const bool whole = strncmp(name, prefix, strlen(prefix)) == 0;
        if (!suite->kind->offer_named(suite, whole ? name + strlen(prefix) : name,
                                      suite->shapes + i * suite->kind->shape_bytes)) {
            const bool sizes = isdigit((unsigned char)*name);
            if (*suite->text)
                fprintf(stderr, "fovea: bench: \"%s\": %s\n", name, suite->text);
            else
                fprintf(stderr, "fovea: bench: \"%s\" is no line; one is %s, of sizes from 1 to 2^31%s%s%s\n", name,
                        suite->kind->names, sizes ? ", like " : "", sizes ? suite->kind->usual : "", sizes ? name : "");
            return false;
        }
    }
    return true;
}

static int list_lines(const struct suite *suite)
{
    for (size_t i = 0; i < suite->line_count; i++)
        puts(suite->lines[i].name);
    return 0;
}

static void add_context(const struct suite *suite)
{
    char text[32];
    bench_context("fovea", fovea_version());
    bench_context("cpu", fovea_engine_machine(suite->engine)->brand);
    bench_context("isa", suite->isa);
    snprintf(text, sizeof text, "%u", suite->options->threads);
    bench_context("threads", text);
    snprintf(text, sizeof text, "%zu", suite->options->offset);
    bench_context("offset", text);
    for (size_t i = 0; i < suite->peer_count; i++) {
        snprintf(text, sizeof text, "peer_%zu", i);
        bench_context(text, suite->peers[i].name);
    }
}

static void load_peers(struct suite *suite)
{
    const struct peer_request request = {
        .event = suite->kind->event,
        .engine = suite->engine,
        .isa = suite->isa,
        .widest = strcmp(suite->isa, isa_of(suite->engine, suite->kind->slot, false)) == 0,
        .threads = suite->options->threads,
    };
    suite->peer_count = peers_load(&request, suite->peers, suite->options->json ? stderr : stdout);
}

// What the whole suite comes to.
static void print_summary(const struct suite *suite)
{
    if (suite->raced && !suite->options->json)
        printf("%zu line%s against the best peer: geomean %.3fx; %zu below 0.97x or with an interval below 1\n",
               suite->raced, suite->raced == 1 ? "" : "s", exp(suite->log_sum / (double)suite->raced), suite->behind);
}

// All lines that are asked for; false having said that there are none.
static bool offer_lines(struct suite *suite)
{
    if (suite->options->names) {
        if (!offer_names(suite))
            return false;
    } else {
        suite->kind->offer(suite);
    }
    if (!suite->line_count)
        fprintf(stderr, "fovea: bench: no line of this set matches \"%s\"\n", suite->options->filter);
    return suite->line_count != 0;
}

static int run_lines(struct suite *suite)
{
    const struct bench_options *const options = suite->options;
    const size_t lines = options->names ? options->name_count : suite->kind->lines_max;
    suite->lines = calloc(lines, sizeof *suite->lines);
    suite->shapes = calloc(lines, suite->kind->shape_bytes);
    suite->pool = bench_pool_start(options->threads);
    const bool kept = !options->report || picture_begin(&suite->picture, lines);
    if (!suite->lines || !suite->shapes || !suite->pool || !kept) {
        fprintf(stderr, "fovea: bench: no memory or no threads\n");
        suite->failed = 1;
    } else if (!offer_lines(suite)) {
        suite->failed = -1;
    } else if (options->list) {
        suite->failed = list_lines(suite);
    } else {
        suite->with = (struct bench_fovea){suite->engine, suite_executor(suite)};
        suite->fovea = suite->kind->fovea(&suite->with);
        if (options->peers)
            load_peers(suite);
        add_context(suite);
        bench_run(options->json);
        print_summary(suite);
        if (suite->done < suite->line_count)
            fprintf(stderr, "fovea: bench: ended after %zu of %zu lines\n", suite->done, suite->line_count);
        if (options->report)
            picture_write(suite, options->report, options->report_page);
    }
    picture_end(&suite->picture);
    bench_pool_stop(suite->pool);
    free(suite->shapes);
    free(suite->lines);
    return suite->failed;
}

int suite_run(const struct suite_kind *kind, const struct fovea_engine *engine, const struct bench_options *options)
{
    struct suite suite = {.kind = kind, .engine = engine, .options = options, .isa = isa_of(engine, kind->slot, true)};
    if (!options->filter)
        return run_lines(&suite);
    regex_t filter;
    const int wrong = regcomp(&filter, options->filter + (*options->filter == '-'), REG_EXTENDED | REG_NOSUB);
    if (wrong) {
        char why[200];
        regerror(wrong, &filter, why, sizeof why);
        fprintf(stderr, "fovea: bench: \"%s\" is no regular expression: %s\n", options->filter, why);
        return -1;
    }
    suite.filter = &filter;
    const int failed = run_lines(&suite);
    regfree(&filter);
    return failed;
}
