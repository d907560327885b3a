// SPDX-License-Identifier: Apache-2.0
// tests/tune/search.c - a whole search: kernels that are wrong, crash or hang on this machine never get into a profile;
// a budget, an interruption and a start that is kept do what they say. No time of a kernel is asserted.
#include "tests/support/test.h"
#include "tune/cache.h"
#include "tune/tune.h"
#include "tune/write.h"

#include <signal.h>
#include <unistd.h>

static struct fovea_engine *engine;
static int32_t best, other; // GEMM kernels of this machine: the default, and another one; -1
static volatile sig_atomic_t stop;

static void differ(const struct fovea_gemm_tile *tile)
{
    for (size_t i = 0; i < tile->m; i++)
        for (size_t j = 0; j < tile->n; j++)
            tile->c[(ptrdiff_t)i * tile->c_row + (ptrdiff_t)j] = 1;
}

static void crash_ill(const struct fovea_gemm_tile *tile)
{
    (void)tile;
    raise(SIGILL);
}

static void crash_segv(const struct fovea_gemm_tile *tile)
{
    (void)tile;
    raise(SIGSEGV);
}

static void hang(const struct fovea_gemm_tile *tile)
{
    volatile int spin = tile != NULL;
    while (spin)
        continue;
}

static fovea_gemm_fn *planted;
static int32_t planted_in;

// The planted function in the place of one kernel.
static void tamper(struct fovea_engine *candidate, uint32_t class, const struct fovea_tuned *tuned)
{
    if (fovea_class(class).kind == FOVEA_TUNED_GEMM && tuned->kernel == planted_in)
        ((struct fovea_kernels *)fovea_engine_kernels(candidate))->gemm_of[class].run = planted;
}

static bool run(struct tune_options *options, struct tune_result *result)
{
    options->engine = engine;
    options->stop = &stop;
    const bool ok = tune_run(options, result);
    CHECK(ok, "no memory");
    static char text[FOVEA_PROFILE_BYTES_MAX];
    static struct fovea_profile back;
    char why[FOVEA_PROFILE_WHY];
    const size_t size = tune_write(&result->profile, text);
    CHECK(fovea_profile_parse(text, size, &result->profile.key, &back, why), "what comes out is no profile: %s", why);
    return ok;
}

static void check_planted(fovea_gemm_fn *function, int32_t kernel, enum fovea_quarantine want, const char *what)
{
    struct tune_result result;
    struct tune_options options = {
        .level = FOVEA_LEVEL_QUICK, .budget = 60, .only = "gemm few-near-nn", .tamper = tamper};
    if (kernel < 0 || fovea_variant_facts[kernel].required == 0)
        return;
    planted = function;
    planted_in = kernel;
    if (!run(&options, &result))
        return;
    CHECK(result.profile.quarantine[kernel] == want, "%s in %s: quarantine %s", what, fovea_variant_facts[kernel].name,
          fovea_quarantine_names[result.profile.quarantine[kernel]]);
    for (uint32_t i = 0; i < FOVEA_TUNED_CLASSES; i++)
        CHECK(!result.profile.has[i] || result.profile.tuned[i].kernel != kernel, "%s was chosen", what);
    for (size_t i = 0; i < result.trial_count; i++)
        CHECK(result.trials[i].tuned.kernel != kernel || result.trials[i].gain == 0, "%s was timed", what);
    // An engine with that profile does not use it.
    struct fovea_engine *with = NULL;
    CHECK(!fovea_engine_create_with(NULL, &result.profile, &with), "an engine");
    for (uint32_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
        CHECK(fovea_tuned_get(fovea_engine_kernels(with), i).kernel != kernel, "%s is in use", what);
    fovea_engine_destroy(with);
    tune_result_free(&result);
}

static void check_levels(void)
{
    struct tune_result result;
    struct tune_options options = {.level = FOVEA_LEVEL_ESTIMATE};
    if (run(&options, &result))
        CHECK(result.pairs == 0 && result.trial_count == 0, "estimate times nothing");
    tune_result_free(&result);
    options = (struct tune_options){.level = FOVEA_LEVEL_QUICK, .budget = 0.2};
    if (run(&options, &result))
        CHECK(result.classes_done < result.classes && !result.interrupted, "a budget of 0.2 s is over before the end");
    tune_result_free(&result);
    stop = 1;
    options = (struct tune_options){.level = FOVEA_LEVEL_INSTALL};
    if (run(&options, &result))
        CHECK(result.interrupted && result.classes_done == 0 && result.profile.level == FOVEA_LEVEL_ESTIMATE,
              "an interruption ends it, which is of no level then");
    tune_result_free(&result);
    stop = 0;
}

static fovea_gemm_fn *real;

// Right, but blocks that are stored rather than added are computed twice.
static void compute_twice(const struct fovea_gemm_tile *tile)
{
    real(tile);
    if (tile->mode == FOVEA_GEMM_STORE)
        real(tile);
}

// Whoever takes the default's micro-kernel, for a class or for a shape, is slow.
static void slow_down(struct fovea_engine *candidate, uint32_t class, const struct fovea_tuned *tuned)
{
    struct fovea_kernels *const kernels = (struct fovea_kernels *)fovea_engine_kernels(candidate);
    (void)class, (void)tuned;
    for (uint32_t i = 0; i < FOVEA_GEMM_CLASSES; i++)
        if (kernels->gemm_of[i].run == real)
            kernels->gemm_of[i].run = compute_twice;
    for (uint32_t i = 0; i < kernels->gemm_tile_count; i++)
        if (kernels->gemm_tiles[i].run == real)
            kernels->gemm_tiles[i].run = compute_twice;
}

// What the search had adopted when it was told to end, at the nth time that it told of itself.
static struct {
    const struct tune_result *result;
    uint32_t calls, nth;
    struct fovea_profile then;
    uint32_t kept; // classes, in all searches
} ended;

static void end_at(void *arg, const struct tune_progress *progress)
{
    (void)arg, (void)progress;
    if (++ended.calls == ended.nth) {
        ended.then = ended.result->profile;
        stop = 1;
    }
}

// A search that is told to end at its nth word; returns how many classes it has adopted something for.
static uint32_t check_end(uint32_t nth)
{
    struct tune_result result;
    struct tune_options options = {.level = FOVEA_LEVEL_QUICK,
                                   .budget = getenv("FOVEA_TEST_SMALL") ? 5 : 60,
                                   .only = "gemm some-far",
                                   .tamper = slow_down,
                                   .tell = end_at};
    uint32_t adopted = 0;
    ended.result = &result;
    ended.calls = 0;
    ended.nth = nth;
    memset(&ended.then, 0, sizeof ended.then);
    const bool ok = run(&options, &result);
    CHECK(!ok || result.interrupted == (stop != 0), "word %u: interrupted", nth);
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES && ok; class ++) {
        const struct fovea_evidence *const e = &result.profile.evidence[class];
        adopted += result.profile.has[class];
        ended.kept += ended.then.has[class];
        CHECK(!result.profile.has[class] || (e->pairs > 0 && e->gain >= 1015000 && e->p < 10000),
              "word %u: %s is not proved: %u pairs, %u, p %u", nth, fovea_class_names[class].name, e->pairs, e->gain,
              e->p);
        CHECK(!ended.then.has[class] || (result.profile.has[class] &&
                                         fovea_tuned_same(&result.profile.tuned[class], &ended.then.tuned[class])),
              "word %u: %s was adopted and is lost", nth, fovea_class_names[class].name);
    }
    if (ok)
        tune_result_free(&result);
    stop = 0;
    return adopted;
}

// Whenever it ends, what it has is proved, and stays. Some kernel is better than one that computes twice, but under an
// emulator, whose times say nothing.
static void check_ends(void)
{
    const uint32_t ends = getenv("FOVEA_TEST_SMALL") ? 1 : 6,
                   class = fovea_gemm_number((struct fovea_gemm_class){FOVEA_SOME, true, FOVEA_FORM_PACKED});
    real = fovea_engine_kernels(engine)->gemm_of[class].run;
    if (fovea_variant_facts[best].required == 0)
        return;
    const uint32_t adopted = check_end(0), words = ended.calls;
    CHECK(adopted != 0 || getenv("FOVEA_TEST_SMALL"), "nothing is better than a kernel that computes twice");
    for (uint32_t i = 1; i <= ends; i++)
        check_end(1 + i * words / (ends + 1));
    printf("%u classes had something when %u searches were told to end\n", ended.kept, ends);
}

// What is kept stays where nothing better is found, but for a kernel in quarantine; what is no more than a start goes.
static void check_start(void)
{
    static struct fovea_profile start;
    struct tune_result result;
    memset(&start, 0, sizeof start);
    for (uint32_t class = 0; class < FOVEA_GEMM_CLASSES; class ++) {
        start.has[class] = 1;
        start.tuned[class] = fovea_tuned_get(fovea_engine_kernels(engine), class);
        start.tuned[class].values[0] = 123;
        start.evidence[class].pairs = class != 4; // one is set by hand
    }
    start.level = FOVEA_LEVEL_EXHAUSTIVE;
    struct tune_options options = {
        .level = FOVEA_LEVEL_QUICK, .budget = 0.01, .only = "nonesuch", .start = &start, .keep = true};
    if (run(&options, &result))
        CHECK(result.profile.has[3] && result.profile.tuned[3].values[0] == 123 && !result.profile.has[4] &&
                  result.profile.level == FOVEA_LEVEL_EXHAUSTIVE,
              "what is proved is kept, and its level");
    tune_result_free(&result);
    options.keep = false;
    if (run(&options, &result))
        CHECK(!result.profile.has[3] && result.profile.level == FOVEA_LEVEL_ESTIMATE, "not kept");
    tune_result_free(&result);
    if (fovea_variant_facts[best].required == 0)
        return;
    options.keep = true;
    start.quarantine[best] = FOVEA_DIFFERS;
    if (run(&options, &result))
        CHECK(!result.profile.has[3] && result.profile.quarantine[best] == FOVEA_DIFFERS, "a quarantined kernel");
    tune_result_free(&result);
}

// A start that is far from any good is left: the profile is never one that was only begun with.
static void check_bad_start(void)
{
    static struct fovea_profile start;
    struct tune_result result;
    memset(&start, 0, sizeof start);
    start.has[2] = 1;
    start.tuned[2] = fovea_tuned_get(fovea_engine_kernels(engine), 2);
    start.tuned[2].values[0] = start.tuned[2].values[1] = 1; // kc and mc
    struct tune_options options = {
        .level = FOVEA_LEVEL_QUICK, .budget = 20, .only = "gemm few-near-nt", .start = &start};
    if (run(&options, &result))
        CHECK(!result.profile.has[2] || result.profile.tuned[2].values[0] != 1, "kc 1 was kept");
    tune_result_free(&result);
}

// A machine that reports a quarter of its L2 is not believed, and what was found of it is kept: other programs on the
// core may take it away while the next search measures.
static void check_l2(void)
{
    struct tune_result result;
    struct fovea_profile start;
    struct fovea_engine *const usual = engine;
    struct tune_options options = {.level = FOVEA_LEVEL_QUICK, .only = "slot softmax"};
    const size_t stays = tune_measure_l2();
    char caches[32];
    if (stays == 0) {
        printf("SKIP: nothing stays in L2\n");
        return;
    }
    snprintf(caches, sizeof caches, "4K,%zuK,32M,plain", stays >> 12);
    setenv("FOVEA_CACHES", caches, 1);
    CHECK(fovea_engine_create(NULL, &engine) == FOVEA_OK, "%s", caches);
    if (run(&options, &result)) // which measures again and may find more
        CHECK(result.profile.l2_measured_bytes >= stays && result.profile.l2_measured_bytes <= tune_measure_l2() &&
                  result.profile.key.l2_bytes == stays / 4,
              "%u measured, %zu are", result.profile.l2_measured_bytes, stays);
    start = result.profile;
    tune_result_free(&result);
    options.start = &start;
    options.keep = true;
    options.level = FOVEA_LEVEL_ESTIMATE; // which measures nothing
    start.l2_measured_bytes = (uint32_t)(stays / 4 + 4096);
    if (run(&options, &result))
        CHECK(result.profile.l2_measured_bytes == stays / 4 + 4096, "%u kept", result.profile.l2_measured_bytes);
    tune_result_free(&result);
    fovea_engine_destroy(engine);
    engine = usual;
}

int main(void)
{
    setenv("FOVEA_CACHES", "32K,1M,32M,plain", 1); // a class whose kernel computes it, whatever this machine is
    setenv("FOVEA_PROFILE", "none", 1);
    if (fovea_engine_create(NULL, &engine))
        return 1;
    best = fovea_engine_kernels(engine)->gemm.variant;
    other = -1;
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (fovea_variant_facts[i].slot == FOVEA_SLOT_gemm && i != best && fovea_variant_facts[i].required != 0 &&
            !(fovea_variant_facts[i].required & ~fovea_engine_choice(engine)->allowed))
            other = i;
    const int32_t kernels[] = {other, best};
    for (int i = 0; i < 2; i++) {
        check_planted(differ, kernels[i], FOVEA_DIFFERS, "a kernel that differs");
        check_planted(crash_ill, kernels[i], FOVEA_CRASHES, "SIGILL");
        check_planted(crash_segv, kernels[i], FOVEA_CRASHES, "SIGSEGV");
        check_planted(hang, kernels[i], FOVEA_HANGS, "a kernel that hangs");
    }
    check_levels();
    check_ends();
    check_start();
    check_bad_start();
    check_l2();
    fovea_engine_destroy(engine);
    return test_done();
}
