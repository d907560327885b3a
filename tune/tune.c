// SPDX-License-Identifier: Apache-2.0
// tune/tune.c - the whole tuner: kernels first, then one class after another, each with its share of the time.
#include "tune/tune.h"
#include "bench/pool.h"
#include "tests/check/run.h"
#include "tune/cache.h"
#include "tune/rounds.h"
#include "tune/walk.h"
#include "tune/write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERIFY_CASES = 6 };            // cases per kernel: some ms; the candidates' own problems follow
static const double walk_share = 0.1; // of the budget, for an area larger than all caches

// In seconds, unless a budget is given.
static double level_budget(enum fovea_profile_level level)
{
    static const double seconds[FOVEA_LEVELS] = {0, 2, 60, INFINITY};
    return seconds[level];
}

static void tell(struct tune_search *s, uint32_t stage, double best)
{
    const struct tune_run *const run = s->owner;
    char what[160];
    uint32_t count;
    const struct fovea_class_names *const class = &fovea_class_names[s->class];
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(s->class).kind, &count);
    if (!run->options->tell)
        return;
    int length = snprintf(what, sizeof what, "%s %s,", class->of, class->name);
    if (stage == 0)
        length += snprintf(what + length, sizeof what - (size_t)length, " kernel");
    for (uint32_t i = 0; i < count; i++)
        if (stage != 0 && tunables[i].stage == stage)
            length += snprintf(what + length, sizeof what - (size_t)length, " %s", tunables[i].name);
    snprintf(what + length, sizeof what - (size_t)length, ": %u candidate%s", s->count, s->count == 1 ? "" : "s");
    const struct tune_progress progress = {
        what, best, tune_now() - s->start, run->budget, run->result->classes_done, run->result->classes};
    run->options->tell(run->options->arg, &progress);
}

// Verifies kernels, each on a few cases of tests/check.
struct kernels {
    int32_t variants[FOVEA_VARIANTS];
    uint32_t count;
};

static bool kernel_is_right(void *arg, uint32_t i)
{
    const struct kernels *const kernels = arg;
    const struct check_options options = {.seed = 5, .cases = VERIFY_CASES, .has_cases = true};
    for (uint64_t c = 0; c < VERIFY_CASES; c++)
        if (!check_run_case(&check_variants[kernels->variants[i]], &options, c, true))
            return false;
    return true;
}

static void verify_kernels(struct tune_search *s)
{
    const struct fovea_choice *const choice = fovea_engine_choice(s->engine);
    enum tune_verdict verdicts[FOVEA_VARIANTS];
    struct kernels kernels = {.count = 0};
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (fovea_variant_facts[i].required != 0 && !(fovea_variant_facts[i].required & ~choice->allowed) &&
            !choice->excluded[i] && !s->quarantine[i])
            kernels.variants[kernels.count++] = i;
    s->patience.until = s->end.deadline;
    tune_ask(kernels.count, kernel_is_right, &kernels, &s->patience, s->end.stop, verdicts);
    for (uint32_t i = 0; i < kernels.count; i++) {
        static const uint8_t why[] = {
            [TUNE_DIFFERS] = FOVEA_DIFFERS, [TUNE_CRASHES] = FOVEA_CRASHES, [TUNE_HANGS] = FOVEA_HANGS};
        if (verdicts[i] >= TUNE_DIFFERS) {
            s->quarantine[kernels.variants[i]] = why[verdicts[i]];
            s->failures++;
        }
    }
    tune_move(s, fovea_engine_copy_without(s->engine, s->quarantine));
}

// From here on the defaults are those of the L2 that is believed. Class by class, only gains of 1.5 % could be proved:
// on Zen 4, told a quarter of its L2, held-out shapes remained up to 4.5 % slower.
static void believe_l2(struct tune_search *s, struct fovea_profile *profile)
{
    const struct tune_run *const run = s->owner;
    const uint32_t kept = run->options->start ? run->options->start->l2_measured_bytes : 0,
                   l2 = tune_believed_l2(fovea_engine_machine(s->engine)->l2_reported_bytes, kept, s->l2);
    struct fovea_engine *const copy = l2 != 0 ? fovea_engine_copy_of_l2(s->engine, l2) : NULL;
    profile->l2_measured_bytes = copy ? l2 : 0;
    tune_move(s, copy);
}

// The initial profile: nothing tuned, or the proved classes that are kept; classes set by hand were not proved.
static void begin_profile(const struct tune_options *options, struct fovea_profile *profile)
{
    memset(profile, 0, sizeof *profile);
    if (options->start && options->keep)
        *profile = *options->start;
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++)
        if (profile->evidence[class].pairs == 0)
            tune_forget(profile, class);
    profile->key = fovea_profile_key(fovea_engine_machine(options->engine));
    profile->isa = fovea_engine_choice(options->engine)->allowed;
    profile->level = options->level;
}

// A run that was stopped, or covered only some classes, or had no time for any, does not get its level: it would
// prevent the next run.
static void end_profile(const struct tune_options *options, struct tune_result *result)
{
    if (result->interrupted || options->only || result->classes_done == 0)
        result->profile.level = options->start && options->keep ? options->start->level : FOVEA_LEVEL_ESTIMATE;
}

static bool begin_search(struct tune_search *s, const struct tune_options *options, struct bench_pool *pool)
{
    const int32_t gemm = fovea_engine_kernels(options->engine)->gemm.variant;
    s->engine = options->engine;
    s->effort = &tune_efforts[options->level];
    s->start = options->begun > 0 ? options->begun : tune_now();
    s->end.deadline = s->start + (options->budget > 0 ? options->budget : level_budget(options->level));
    s->l2 = options->level != FOVEA_LEVEL_ESTIMATE ? tune_measure_l2() : 0;
    s->patience.silence = options->patience > 0 ? options->patience : 5;
    s->patience.work = fmin(1, s->patience.silence);
    s->end.stop = options->stop;
    s->tamper = options->tamper;
    s->tell = tell;
    s->racers = calloc(TUNE_CANDIDATES_MAX, sizeof *s->racers);
    s->track.patience = s->effort->patience;
    s->track.isa = fovea_isa_names[fovea_variant_facts[gemm].isa];
    s->track.executor = pool ? bench_pool_executor(pool) : NULL;
    if (options->start)
        memcpy(s->quarantine, options->start->quarantine, sizeof s->quarantine);
    return s->racers && pool;
}

bool tune_run(const struct tune_options *options, struct tune_result *result)
{
    struct tune_search *const s = calloc(1, sizeof *s);
    struct bench_pool *const pool = bench_pool_start(1);
    struct tune_run run = {.options = options, .result = result};
    memset(result, 0, sizeof *result);
    const bool ok = s && begin_search(s, options, pool);
    if (ok) {
        run.budget = s->end.deadline - s->start;
        tune_walk_allow(walk_share * run.budget);
        s->owner = &run;
        begin_profile(options, &result->profile);
        believe_l2(s, &result->profile);
        if (options->level != FOVEA_LEVEL_ESTIMATE) {
            verify_kernels(s);
            tune_rounds(s);
        }
        tune_banish(&result->profile, s->quarantine); // not even in a class that was kept
        end_profile(options, result);
        result->trials = s->trials;
        result->trial_count = s->trial_count;
        result->failures = s->failures;
        result->seconds = tune_now() - s->start;
        result->pairs = s->track.pairs;
        result->disturbed = s->track.disturbed;
        fovea_engine_destroy(run.owned);
    }
    if (s)
        free(s->racers);
    free(s);
    bench_pool_stop(pool);
    tune_walk_end();
    tune_walk_allow(INFINITY);
    return ok;
}

void tune_result_free(struct tune_result *result)
{
    free(result->trials);
    memset(result, 0, sizeof *result);
}

bool tune_best(const struct fovea_engine *engine, const struct tune_shape *shape, double seconds,
               struct fovea_tuned *best)
{
    struct tune_search *const s = calloc(1, sizeof *s);
    struct bench_pool *const pool = bench_pool_start(1);
    struct tune_effort effort = tune_efforts[FOVEA_LEVEL_EXHAUSTIVE];
    const struct tune_options options = {.engine = engine, .level = FOVEA_LEVEL_EXHAUSTIVE, .budget = seconds};
    bool ok = s && begin_search(s, &options, pool);
    effort.proof_pairs = 0;
    if (ok) {
        s->effort = &effort;
        s->tell = NULL;
        s->class_deadline = s->end.deadline;
        s->track.cases[0] = tune_case_gemm(engine, shape);
        s->track.count = s->track.cases[0] != NULL;
        s->class = s->track.count ? s->track.cases[0]->class : 0;
        ok = s->track.count && tune_search_class(s, NULL, false);
        *best = s->best;
        if (s->track.count)
            s->track.cases[0]->kind->destroy(s->track.cases[0]);
        free(s->trials);
    }
    if (s)
        free(s->racers); // there may be some without a pool
    free(s);
    bench_pool_stop(pool);
    return ok;
}
