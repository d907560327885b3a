// SPDX-License-Identifier: Apache-2.0
// tests/tune/blame.c - who is put into quarantine when a candidate is wrong: the variant that computed it, whichever
// slot it is in, and no other; and what happens to proved choices where the border moves and the time is over.
#include "tests/support/test.h"
#include "tune/tune.h"

enum { LONG = 1000 }; // seconds: the searches are over long before, also under an emulator

static struct fovea_engine *engine;
static const struct fovea_kernels *defaults;

static bool run(struct tune_options *options, struct tune_result *result)
{
    options->engine = engine;
    options->level = FOVEA_LEVEL_QUICK;
    const bool ok = tune_run(options, result);
    CHECK(ok, "no memory");
    return ok;
}

// Only `guilty`, which may be -1, is in quarantine.
static void check_quarantine(const struct tune_result *result, int32_t guilty, const char *what)
{
    for (int32_t i = 0; i < FOVEA_VARIANTS; i++)
        CHECK((result->profile.quarantine[i] != 0) == (i == guilty), "%s: quarantine of %s is \"%s\"", what,
              fovea_variant_facts[i].name, fovea_quarantine_names[result->profile.quarantine[i]]);
}

static fovea_gemm_bt_fn *real_bt;

static void wrong_bt(const struct fovea_gemm_bt_tile *tile)
{
    real_bt(tile);
    tile->c[0] += 1;
}

// The default's kernel for rows of a transposed B is wrong; an engine without it has another.
static void break_bt(struct fovea_engine *candidate, uint32_t class, const struct fovea_tuned *tuned)
{
    struct fovea_kernels *const kernels = (struct fovea_kernels *)fovea_engine_kernels(candidate);
    (void)class, (void)tuned;
    if (kernels->gemm_bt.run == real_bt)
        kernels->gemm_bt.run = wrong_bt;
}

static void wrong_decode(const struct fovea_decode_chunk *chunk)
{
    (void)chunk;
}

static void break_decode(struct fovea_engine *candidate, uint32_t class, const struct fovea_tuned *tuned)
{
    struct fovea_kernels *const kernels = (struct fovea_kernels *)fovea_engine_kernels(candidate);
    (void)class, (void)tuned;
    if (kernels->attention_decode.variant == defaults->attention_decode.variant)
        kernels->attention_decode.run = wrong_decode;
}

// A wrong kernel of another slot than the class's is found, alone, and the class is searched without it.
static void check_guilty(void)
{
    struct tune_result result;
    struct tune_options options = {.budget = LONG, .only = "gemm few-near-nt", .tamper = break_bt};
    real_bt = defaults->gemm_bt.run;
    if (defaults->gemm_bt.required != 0 && run(&options, &result)) {
        check_quarantine(&result, defaults->gemm_bt.variant, "gemm_bt differs");
        bool right = false;
        for (size_t i = 0; i < result.trial_count; i++)
            right |= result.trials[i].verdict == TUNE_SAME;
        CHECK(right, "gemm_bt differs: nothing was searched without it");
        tune_result_free(&result);
    }
    // Here a problem that prefill alone computes is right before one whose last rows are decoded is not.
    options = (struct tune_options){.budget = LONG, .only = "attention heads-128", .tamper = break_decode};
    if (defaults->attention_decode.required != 0 && run(&options, &result)) {
        check_quarantine(&result, defaults->attention_decode.variant, "decoding differs");
        tune_result_free(&result);
    }
}

// What is in quarantine from the begin is used by no plan, so nothing is wrong.
static void check_known(void)
{
    static struct fovea_profile start;
    struct tune_result result;
    const int32_t variant = defaults->gemm_bt.variant;
    struct tune_options options = {
        .budget = LONG, .only = "gemm few-near-nt", .start = &start, .keep = true, .tamper = break_bt};
    if (defaults->gemm_bt.required == 0)
        return;
    memset(&start, 0, sizeof start);
    start.quarantine[variant] = FOVEA_CRASHES;
    if (run(&options, &result)) {
        check_quarantine(&result, variant, "gemm_bt in quarantine");
        CHECK(result.failures == 0, "gemm_bt in quarantine: %u failures", result.failures);
        tune_result_free(&result);
    }
}

enum { KEPT_KIB = 128 }; // a border

static void slow_bt(const struct fovea_gemm_bt_tile *tile)
{
    for (int i = 0; i < 300; i++)
        real_bt(tile);
}

static void slow_border(struct fovea_engine *candidate, uint32_t class, const struct fovea_tuned *tuned)
{
    if (class == FOVEA_CLASS_CACHE && tuned->values[0] == KEPT_KIB)
        ((struct fovea_kernels *)fovea_engine_kernels(candidate))->gemm_bt.run = slow_bt;
}

// A border that turns out to be bad is left, with it all that was proved on its two sides; unless there was no time for
// that to be searched again, as where only the border is.
static void check_border(void)
{
    static struct fovea_profile start;
    struct tune_result result;
    const uint32_t other = fovea_gemm_number((struct fovea_gemm_class){FOVEA_SOME, true, FOVEA_FORM_NN});
    const struct fovea_evidence proved = {1030000, 1020000, 1040000, 1000, 15};
    struct tune_options options = {
        .budget = LONG, .only = "cache border", .start = &start, .keep = true, .tamper = slow_border};
    memset(&start, 0, sizeof start);
    start.has[FOVEA_CLASS_CACHE] = start.has[other] = 1;
    start.tuned[FOVEA_CLASS_CACHE] = (struct fovea_tuned){-1, {KEPT_KIB}};
    start.tuned[other] = fovea_tuned_get(defaults, other);
    start.tuned[other].values[0] = 123;
    start.evidence[FOVEA_CLASS_CACHE] = start.evidence[other] = proved;
    if (!run(&options, &result))
        return;
    const struct fovea_profile *const p = &result.profile;
    CHECK(p->has[other] && p->tuned[other].values[0] == 123 && p->evidence[other].pairs == proved.pairs,
          "the border alone: a proved class is lost");
    CHECK(p->has[FOVEA_CLASS_CACHE] && p->tuned[FOVEA_CLASS_CACHE].values[0] == KEPT_KIB,
          "the border alone: the class stays, but not the border");
    CHECK(result.failures == 0, "the border alone: %u failures", result.failures);
    tune_result_free(&result);
}

int main(void)
{
    setenv("FOVEA_CACHES", "32K,1M,32M,plain", 1); // classes of the same problems everywhere
    setenv("FOVEA_PROFILE", "none", 1);
    if (fovea_engine_create(NULL, &engine))
        return 1;
    defaults = fovea_engine_kernels(engine);
    check_guilty();
    check_known();
    check_border();
    fovea_engine_destroy(engine);
    return test_done();
}
