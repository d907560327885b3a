// SPDX-License-Identifier: Apache-2.0
// tests/tune/chosen.c - what a profile names, or else what the model prefers, is used by an engine, below pins, caps,
// exclusions and quarantine.
#include "dispatch/adopt.h"
#include "fovea/fovea.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"
#include "tune/write.h"

#include <unistd.h>

static char folder[] = "/tmp/fovea_chosen_XXXXXX";
static char path[128];
static struct fovea_profile profile;

static struct fovea_engine *engine_of(const char *file, const char *isa, const char *pin, const char *exclude)
{
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.profile = file, options.isa = isa, options.pin = pin, options.exclude = exclude;
    struct fovea_engine *engine = NULL;
    if (fovea_engine_create(&options, &engine)) {
        fprintf(stderr, "FAIL no engine with %s\n", file);
        exit(1);
    }
    return engine;
}

// A profile of this machine that has no class yet.
static void make_profile(const struct fovea_machine *machine)
{
    memset(&profile, 0, sizeof profile);
    profile.key = fovea_profile_key(machine);
    profile.isa = machine->cpu;
    profile.level = FOVEA_LEVEL_INSTALL;
}

// Pins, exclusions and quarantine, on the widest GEMM kernel of this machine.
static void test_above(void)
{
    char why[FOVEA_PROFILE_WHY];
    struct fovea_engine *engine = engine_of("none", NULL, NULL, NULL);
    const struct fovea_tuned plain = fovea_tuned_get(fovea_engine_kernels(engine), 0);
    const char *const widest = fovea_variant_facts[plain.kernel].name;
    const int32_t scalar = fovea_variant_find("gemm_f32_4x16_scalar", 20);
    make_profile(fovea_engine_machine(engine));
    profile.has[0] = 1;
    profile.tuned[0] = fovea_tuned_default(fovea_engine_machine(engine), 0, scalar);
    profile.tuned[0].values[0] = 77;
    fovea_engine_destroy(engine);
    const struct {
        const char *isa, *pin, *exclude;
        int quarantine, tuned;
        const char *kernel; // of class 0
    } cases[] = {
        {NULL, NULL, NULL, 0, 1, "gemm_f32_4x16_scalar"},     {NULL, widest, NULL, 0, 0, widest},
        {NULL, NULL, widest, 0, 1, "gemm_f32_4x16_scalar"},   {NULL, NULL, NULL, 1, 1, "gemm_f32_4x16_scalar"},
        {"scalar", NULL, NULL, 0, 0, "gemm_f32_4x16_scalar"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases && plain.kernel != scalar; i++) {
        profile.quarantine[plain.kernel] = cases[i].quarantine ? FOVEA_DIFFERS : 0;
        CHECK(tune_save(path, false, &profile, why), "%s", why);
        engine = engine_of(path, cases[i].isa, cases[i].pin, cases[i].exclude);
        const struct fovea_tuned got = fovea_tuned_get(fovea_engine_kernels(engine), 0);
        CHECK(strcmp(fovea_variant_facts[got.kernel].name, cases[i].kernel) == 0, "case %zu: %s", i,
              fovea_variant_facts[got.kernel].name);
        CHECK((got.values[0] == 77) == cases[i].tuned, "case %zu: kc %u", i, got.values[0]);
        const struct fovea_tuned other = fovea_tuned_get(fovea_engine_kernels(engine), 1);
        CHECK((other.kernel == plain.kernel) == (!cases[i].quarantine && !cases[i].exclude && !cases[i].isa),
              "case %zu: class 1 has %s", i, fovea_variant_facts[other.kernel].name);
        fovea_engine_destroy(engine);
    }
}

// The defaults are those of the L2 that was measured, under any cap, and so are those of an engine that a search goes
// on with; the key has the reported one.
static void test_l2(void)
{
    char why[FOVEA_PROFILE_WHY];
    struct fovea_engine *const plain = engine_of("none", NULL, NULL, NULL);
    const struct fovea_machine machine = *fovea_engine_machine(plain);
    const uint32_t bytes = 4 * machine.l2_bytes, wide = fovea_attention_number(FOVEA_HEADS_128);
    const struct fovea_tuned reported = fovea_tuned_get(fovea_engine_kernels(plain), wide);
    struct fovea_engine *const copy = fovea_engine_copy_of_l2(plain, bytes);
    fovea_engine_destroy(plain);
    if (!copy)
        return;
    make_profile(&machine);
    memset(profile.has, 0, sizeof profile.has);
    profile.l2_measured_bytes = bytes;
    for (int ours = 0; ours < 2; ours++) {
        profile.isa = ours != 0 ? machine.cpu : machine.cpu ^ 1;
        CHECK(tune_save(path, false, &profile, why), "%s", why);
        struct fovea_engine *const engine = engine_of(path, NULL, NULL, NULL);
        const struct fovea_machine *const m = fovea_engine_machine(engine);
        CHECK(m->l2_bytes == bytes && m->l2_reported_bytes == machine.l2_bytes, "L2 %u, reported %u", m->l2_bytes,
              m->l2_reported_bytes);
        CHECK(fovea_profile_key(m).l2_bytes == machine.l2_bytes, "the key has %u", fovea_profile_key(m).l2_bytes);
        CHECK((strstr(fovea_engine_profile(engine), "only its quarantine and L2 count") != NULL) == (ours == 0), "%s",
              fovea_engine_profile(engine));
        for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
            const struct fovea_tuned got = fovea_tuned_get(fovea_engine_kernels(engine), class),
                                     searched = fovea_tuned_get(fovea_engine_kernels(copy), class);
            CHECK(fovea_tuned_same(&got, &searched), "ours %d: class %u", ours, class);
            CHECK(class != wide || !fovea_tuned_same(&got, &reported), "the defaults of the reported L2");
        }
        fovea_engine_destroy(engine);
    }
    fovea_engine_destroy(copy);
}

// Slots that the tuner may choose for get what a profile names, if it was made under the same cap.
static void test_slots(void)
{
    char why[FOVEA_PROFILE_WHY];
    struct fovea_engine *engine = engine_of("none", NULL, NULL, NULL);
    make_profile(fovea_engine_machine(engine));
    int32_t wanted[FOVEA_TUNED_CLASSES];
    for (uint32_t class = FOVEA_CLASS_CACHE + 1; class < FOVEA_TUNED_CLASSES; class ++) {
        wanted[class] = fovea_tuned_get(fovea_engine_kernels(engine), class).kernel;
        for (int32_t i = 0; i < (int32_t)FOVEA_VARIANTS; i++)
            if (i != wanted[class] && fovea_variant_facts[i].slot == fovea_class_slot(class) &&
                (fovea_variant_facts[i].required & ~profile.isa) == 0) {
                profile.has[class] = fovea_class_is_tuned(class);
                profile.tuned[class].kernel = wanted[class] = profile.has[class] ? i : wanted[class];
                break;
            }
    }
    fovea_engine_destroy(engine);
    CHECK(tune_save(path, false, &profile, why), "%s", why);
    engine = engine_of(path, NULL, NULL, NULL);
    for (uint32_t class = FOVEA_CLASS_CACHE + 1; class < FOVEA_TUNED_CLASSES; class ++) {
        const int32_t got = fovea_tuned_get(fovea_engine_kernels(engine), class).kernel;
        CHECK(got == wanted[class], "class %u has %s, not %s", class, fovea_variant_facts[got].name,
              fovea_variant_facts[wanted[class]].name);
    }
    fovea_engine_destroy(engine);
}

// What is said of a variant, and whether it is in its slot.
static void check_said(const struct fovea_engine *engine, int32_t variant, bool in_use, const char *why,
                       const char *what)
{
    struct fovea_variant v;
    const enum fovea_slot slot = fovea_variant_facts[variant].slot;
    CHECK(fovea_engine_variant(engine, (uint32_t)variant, &v) == FOVEA_OK && strcmp(v.why, why) == 0, "%s, %s: %s",
          what, v.name, v.why);
    CHECK((fovea_slot_variant(fovea_engine_kernels(engine), slot) == variant) == in_use && v.chosen == in_use,
          "%s, %s: in use: %u", what, v.name, (unsigned)v.chosen);
}

// Two variants of a slot, of which the model prefers the earlier line on some machines: the better one of this machine
// is used, below the profile, pins, exclusions and quarantine, which leave the other one.
static void test_preferred(const char *set, const char *better, const char *worse)
{
    static const char chosen[] = "chosen", other[] = "another variant is better";
    const int32_t a = fovea_variant_find(better, strlen(better)), b = fovea_variant_find(worse, strlen(worse));
    char caches[32], why[FOVEA_PROFILE_WHY];
    snprintf(caches, sizeof caches, "32K,1M,32M,%s", set);
    setenv("FOVEA_CACHES", caches, 1);
    struct fovea_engine *engine = engine_of("none", NULL, NULL, NULL);
    const struct fovea_machine machine = *fovea_engine_machine(engine);
    if (a < 0 || b < 0 || (fovea_variant_facts[a].required & ~machine.cpu)) {
        printf("skip %s: this CPU or build lacks it\n", better);
        unsetenv("FOVEA_CACHES");
        fovea_engine_destroy(engine);
        return;
    }
    check_said(engine, a, true, chosen, set);
    check_said(engine, b, false, other, set);
    fovea_engine_destroy(engine);
    engine = engine_of("none", NULL, NULL, better);
    check_said(engine, a, false, "excluded by name", set);
    check_said(engine, b, true, chosen, set);
    fovea_engine_destroy(engine);
    engine = engine_of("none", NULL, NULL, worse);
    check_said(engine, a, true, chosen, set);
    fovea_engine_destroy(engine);
    engine = engine_of("none", NULL, worse, NULL);
    check_said(engine, a, false, "another variant is pinned", set);
    check_said(engine, b, true, "chosen: pinned by name", set);
    fovea_engine_destroy(engine);
    make_profile(&machine);
    profile.quarantine[a] = FOVEA_DIFFERS;
    CHECK(tune_save(path, false, &profile, why), "%s", why);
    engine = engine_of(path, NULL, NULL, NULL);
    check_said(engine, a, false, "quarantined: it failed when this machine was tuned", set);
    check_said(engine, b, true, chosen, set);
    fovea_engine_destroy(engine);
    const uint32_t class = fovea_slot_number(fovea_variant_facts[a].slot);
    make_profile(&machine);
    profile.has[class] = 1;
    profile.tuned[class].kernel = b;
    CHECK(tune_save(path, false, &profile, why), "%s", why);
    engine = engine_of(path, NULL, NULL, NULL);
    check_said(engine, a, false, other, set);
    check_said(engine, b, true, "chosen: by the tuning profile", set);
    fovea_engine_destroy(engine);
    engine = engine_of(path, NULL, better, NULL);
    check_said(engine, a, true, "chosen: pinned by name", set);
    fovea_engine_destroy(engine);
    unsetenv("FOVEA_CACHES");
}

int main(void)
{
    static const char converts[] = "gemm_s8_f32_halves_avx512", raises[] = "gemm_s8_f32_avx512";
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/profile", folder);
    test_plain_environment();
    test_above();
    test_l2();
    test_slots();
    test_preferred("plain", converts, raises);
    test_preferred("wide", raises, converts);
    test_preferred("hashed", raises, converts);
    test_preferred("mesh", raises, converts);
    unlink(path);
    rmdir(folder);
    return test_done();
}
