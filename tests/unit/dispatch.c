// SPDX-License-Identifier: Apache-2.0
// tests/unit/dispatch.c - engines: caps, pins, exclusions and caches by option and by environment do what they say,
// unknown names are errors with a message, and a forced ISA is really the one in use.
#include "dispatch/adopt.h"
#include "dispatch/cpu.h"
#include "fovea/attention.h"
#include "fovea/gemm.h"
#include "fovea/rowwise.h"
#include "tests/support/engines.h"
#include "tests/support/test.h"

#include <unistd.h>

static const uint32_t required[TEST_ISAS] = {0, FOVEA_CPU_AVX2, FOVEA_CPU_AVX2 | FOVEA_CPU_AVX512, FOVEA_CPU_NEON};

// Creates an engine with isa, pin and exclude (NULL: none); *message says why not.
static struct fovea_engine *create(const char *isa, const char *pin, const char *exclude, enum fovea_status want,
                                   char *message, size_t size)
{
    struct fovea_engine *engine = NULL;
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.isa = isa;
    options.pin = pin;
    options.exclude = exclude;
    options.message = message;
    options.message_size = size;
    memset(message, 'x', size); // of an engine before
    message[size - 1] = '\0';
    const enum fovea_status status = fovea_engine_create(&options, &engine);
    CHECK(status == want, "isa %s, pin %s, exclude %s: %s (%s)", isa ? isa : "-", pin ? pin : "-",
          exclude ? exclude : "-", fovea_status_string(status), message);
    CHECK((engine != NULL) == (status == FOVEA_OK), "an engine with status %s", fovea_status_string(status));
    CHECK((message[0] != 0) == (status != FOVEA_OK) && !strchr(message, '\n'), "the message is \"%s\"", message);
    return engine;
}

static struct fovea_engine *good(const char *isa, const char *pin, const char *exclude)
{
    char message[160];
    struct fovea_engine *const engine = create(isa, pin, exclude, FOVEA_OK, message, sizeof message);
    if (!engine)
        exit(test_done());
    return engine;
}

static void refuse(const char *isa, const char *pin, const char *exclude, enum fovea_status want, const char *must_say)
{
    char message[160];
    fovea_engine_destroy(create(isa, pin, exclude, want, message, sizeof message));
    CHECK(strstr(message, must_say), "the message \"%s\" lacks \"%s\"", message, must_say);
}

static struct fovea_variant variant(const struct fovea_engine *engine, uint32_t index)
{
    struct fovea_variant v = {0};
    if (fovea_engine_variant(engine, index, &v))
        CHECK(0, "there is no variant %u", index);
    return v;
}

// The name of the variant in use in a slot.
static const char *chosen(const struct fovea_engine *engine, const char *slot)
{
    for (uint32_t i = 0; i < fovea_engine_variants(engine); i++) {
        const struct fovea_variant v = variant(engine, i);
        if (v.chosen && strcmp(v.slot, slot) == 0)
            return v.name;
    }
    return "none";
}

// Every slot has exactly one variant in use, and it is what the operators run.
static void test_listing(const struct fovea_engine *engine, const char *what)
{
    const uint32_t count = fovea_engine_variants(engine);
    for (uint32_t i = 0; i < count; i++) {
        const struct fovea_variant v = variant(engine, i);
        uint32_t in_use = 0, namesakes = 0;
        for (uint32_t j = 0; j < count; j++) {
            const struct fovea_variant other = variant(engine, j);
            namesakes += strcmp(v.name, other.name) == 0;
            in_use += other.chosen && strcmp(other.slot, v.slot) == 0;
        }
        CHECK(in_use == 1 && namesakes == 1, "%s: slot %s has %u variants in use, %u are named %s", what, v.slot,
              in_use, namesakes, v.name);
        CHECK(v.chosen + v.also <= 1 && (strncmp(v.why, "chosen", 6) == 0) == (v.chosen == 1), "%s: %s: \"%s\"", what,
              v.name, v.why);
        const size_t name = strlen(v.name), isa = strlen(v.isa);
        CHECK(name > isa && strcmp(v.name + name - isa, v.isa) == 0, "%s is of %s", v.name, v.isa);
    }
    const struct fovea_kernels *const kernels = fovea_engine_kernels(engine);
#define FOVEA_SLOT(family, slot)                                                                                       \
    CHECK(strcmp(kernels->slot.name, chosen(engine, #slot)) == 0 && kernels->slot.run, "%s: slot %s runs %s, not %s",  \
          what, #slot, kernels->slot.name, chosen(engine, #slot));
#include "kernels/slots.def"
#undef FOVEA_SLOT
    struct fovea_variant v = {.name = "untouched"};
    CHECK(fovea_engine_variant(engine, count, &v) == FOVEA_ERR_SHAPE, "past the end");
    CHECK(fovea_engine_variant(engine, UINT32_MAX, &v) == FOVEA_ERR_SHAPE, "far past the end");
    CHECK(fovea_engine_variant(NULL, 0, &v) == FOVEA_ERR_NULL, "no engine");
    CHECK(fovea_engine_variant(engine, 0, NULL) == FOVEA_ERR_NULL, "nowhere to put it");
    CHECK(strcmp(v.name, "untouched") == 0, "an error wrote %s", v.name);
}

// Every slot has a variant of every ISA: under a cap all those in use are of it.
static void check_isa(const struct fovea_engine *engine, const char *isa, const char *how)
{
    for (uint32_t i = 0; i < fovea_engine_variants(engine); i++) {
        const struct fovea_variant v = variant(engine, i);
        CHECK(!v.chosen || strcmp(v.isa, isa) == 0, "%s: %s is in use", how, v.name);
    }
    char text[FOVEA_EXPLAIN_BYTES] = "", end[16];
    struct fovea_gemm_desc gemm = FOVEA_GEMM_DESC_INIT;
    gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = 100;
    snprintf(end, sizeof end, "_%s", isa);
    CHECK(!fovea_explain_gemm(engine, &gemm, text, sizeof text) && strstr(text, end), "%s: \"%s\"", how, text);
}

static void test_isas_forced(void)
{
    const uint32_t cpu = fovea_cpu_probe();
    for (int i = 0; i < TEST_ISAS; i++) {
        const char *const isa = test_isas[i];
        if (required[i] & ~cpu) {
            refuse(isa, NULL, NULL, FOVEA_ERR_UNSUPPORTED, isa);
            setenv("FOVEA_ISA", isa, 1);
            refuse(NULL, NULL, NULL, FOVEA_ERR_UNSUPPORTED, isa);
            unsetenv("FOVEA_ISA");
            continue;
        }
        struct fovea_engine *engine = good(isa, NULL, NULL);
        check_isa(engine, isa, "by option");
        test_listing(engine, isa);
        fovea_engine_destroy(engine);
        setenv("FOVEA_ISA", isa, 1);
        engine = good(NULL, NULL, NULL);
        check_isa(engine, isa, "by environment");
        fovea_engine_destroy(engine);
        engine = good("scalar", NULL, NULL);
        check_isa(engine, "scalar", "the option goes before the environment");
        fovea_engine_destroy(engine);
        unsetenv("FOVEA_ISA");
    }
    refuse("sse9", NULL, NULL, FOVEA_ERR_CONFIG, "options.isa=sse9: no such ISA");
    refuse("AVX2", NULL, NULL, FOVEA_ERR_CONFIG, "AVX2");
    refuse("avx2,avx512", NULL, NULL, FOVEA_ERR_CONFIG, "avx2,avx512");
    refuse(
        "a name that is far longer than any message has room for, and then goes on for another hundred characters or "
        "so, as no ISA of any CPU ever did",
        NULL, NULL, FOVEA_ERR_CONFIG, "a name");
    setenv("FOVEA_ISA", "bogus", 1);
    refuse(NULL, NULL, NULL, FOVEA_ERR_CONFIG, "FOVEA_ISA=bogus: no such ISA");
    setenv("FOVEA_ISA", "", 1); // empty is none
    fovea_engine_destroy(good(NULL, NULL, NULL));
    unsetenv("FOVEA_ISA");
}

// Without options the best supported variant is in use: the last line of its slot, or the one that the model prefers.
static void test_defaults(void)
{
    struct fovea_engine *engine = NULL;
    CHECK(!fovea_engine_create(NULL, &engine), "no options");
    const uint32_t count = fovea_engine_variants(engine);
    const uint8_t *const preferred = fovea_engine_choice(engine)->preferred;
    for (uint32_t i = 0; i < count; i++) {
        const struct fovea_variant v = variant(engine, i);
        for (uint32_t j = i + 1; j < count && v.chosen; j++) {
            const struct fovea_variant later = variant(engine, j);
            CHECK(strcmp(v.slot, later.slot) != 0 || strstr(later.why, "lacks") || preferred[i],
                  "%s rather than %s (%s)", v.name, later.name, later.why);
        }
    }
    test_listing(engine, "default");
    const struct fovea_machine *const m = fovea_engine_machine(engine);
    CHECK(m && m->cpu == fovea_cpu_probe() && m->l1d_bytes && m->l2_bytes && m->l1d_ways && m->l2_ways, "the machine");
    CHECK(m && memchr(m->brand, 0, sizeof m->brand) && memchr(m->features, 0, sizeof m->features), "its strings");
    CHECK(fovea_engine_machine(NULL) == NULL, "the machine of no engine");
    fovea_engine_destroy(engine);
    fovea_engine_destroy(NULL);
}

// Pinning and excluding each variant: it is in use, or it is not, or the call says why it cannot be.
static void test_each_variant(void)
{
    struct fovea_engine *const all = good(NULL, NULL, NULL);
    for (uint32_t i = 0; i < fovea_engine_variants(all); i++) {
        const struct fovea_variant v = variant(all, i);
        if (strstr(v.why, "lacks")) {
            refuse(NULL, v.name, NULL, FOVEA_ERR_UNSUPPORTED, v.name);
            continue;
        }
        struct fovea_engine *engine = good(NULL, v.name, NULL);
        CHECK(strcmp(chosen(engine, v.slot), v.name) == 0, "%s is pinned, %s in use", v.name, chosen(engine, v.slot));
        test_listing(engine, v.name);
        fovea_engine_destroy(engine);
        setenv("FOVEA_PIN", v.name, 1);
        engine = good(NULL, NULL, NULL);
        CHECK(strcmp(chosen(engine, v.slot), v.name) == 0, "%s is pinned, %s in use", v.name, chosen(engine, v.slot));
        fovea_engine_destroy(engine);
        unsetenv("FOVEA_PIN");
        if (strcmp(v.isa, "scalar") == 0) {
            refuse(NULL, NULL, v.name, FOVEA_ERR_CONFIG, v.name);
            continue;
        }
        refuse("scalar", v.name, NULL, FOVEA_ERR_CONFIG, "is above options.isa=scalar");
        refuse(NULL, v.name, v.name, FOVEA_ERR_CONFIG, v.name);
        engine = good(NULL, NULL, v.name);
        CHECK(strcmp(chosen(engine, v.slot), v.name) != 0, "%s is excluded and in use", v.name);
        test_listing(engine, v.name);
        fovea_engine_destroy(engine);
        setenv("FOVEA_EXCLUDE", v.name, 1);
        engine = good(NULL, NULL, NULL);
        CHECK(strcmp(chosen(engine, v.slot), v.name) != 0, "%s is excluded and in use", v.name);
        fovea_engine_destroy(engine);
        unsetenv("FOVEA_EXCLUDE");
    }
    fovea_engine_destroy(all);
}

static void test_lists(void)
{
    struct fovea_engine *const engine = good(NULL, "gemm_f32_4x16_scalar, exp2_f32_scalar", NULL);
    CHECK(strcmp(chosen(engine, "gemm"), "gemm_f32_4x16_scalar") == 0, "%s", chosen(engine, "gemm"));
    CHECK(strcmp(chosen(engine, "exp2"), "exp2_f32_scalar") == 0, "%s", chosen(engine, "exp2"));
    fovea_engine_destroy(engine);
    refuse(NULL, "gemm_f32_4x16_scalar,nonsense", NULL, FOVEA_ERR_CONFIG, "nonsense");
    refuse(NULL, "gemm_f32_4x16", NULL, FOVEA_ERR_CONFIG, "gemm_f32_4x16");
    refuse(NULL, "gemm_f32_4x16_scalar ", NULL, FOVEA_ERR_CONFIG, "\"gemm_f32_4x16_scalar \"");
    refuse(NULL, ",", NULL, FOVEA_ERR_CONFIG, "options.pin: no variant named \"\"");
    refuse(NULL, NULL, "nonsense", FOVEA_ERR_CONFIG, "options.exclude: no variant named \"nonsense\"");
    setenv("FOVEA_PIN", "nonsense", 1);
    refuse(NULL, NULL, NULL, FOVEA_ERR_CONFIG, "FOVEA_PIN: no variant");
    refuse(NULL, "other", NULL, FOVEA_ERR_CONFIG, "options.pin: no variant named \"other\"");
    unsetenv("FOVEA_PIN");
    setenv("FOVEA_EXCLUDE", "nonsense", 1);
    refuse(NULL, NULL, NULL, FOVEA_ERR_CONFIG, "FOVEA_EXCLUDE: no variant");
    unsetenv("FOVEA_EXCLUDE");
    if (fovea_cpu_probe() & FOVEA_CPU_AVX512)
        refuse(NULL, "gemm_f32_9x48_avx512,gemm_f32_6x64_avx512", NULL, FOVEA_ERR_CONFIG, "one slot");
}

// The caches of an engine by an option and a variable (NULL: neither), or its message.
static void check_caches(const char *option, const char *variable, const char *source, uint32_t l2_bytes)
{
    struct fovea_engine *engine = NULL;
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    char message[160] = "";
    options.caches = option;
    options.message = message;
    options.message_size = sizeof message;
    if (variable)
        setenv("FOVEA_CACHES", variable, 1);
    const enum fovea_status status = fovea_engine_create(&options, &engine);
    unsetenv("FOVEA_CACHES");
    if (l2_bytes == 0) {
        CHECK(status == FOVEA_ERR_CONFIG && strstr(message, source), "%s: \"%s\"", source, message);
        return;
    }
    const struct fovea_machine *const m = fovea_engine_machine(engine);
    CHECK(m && m->l2_bytes == l2_bytes && strcmp(m->cache_source, source) == 0, "%s: %s, L2 %u, not %u", source,
          m ? m->cache_source : message, m ? m->l2_bytes : 0, l2_bytes);
    fovea_engine_destroy(engine);
}

static void test_caches(void)
{
    struct fovea_engine *const engine = good(NULL, NULL, NULL);
    const struct fovea_machine found = *fovea_engine_machine(engine);
    check_caches("16K,512K", NULL, "options.caches", 512 << 10);
    check_caches("16K,512K", "16K,768K", "options.caches", 512 << 10);
    check_caches("16K,512K", "nonsense", "options.caches", 512 << 10);
    check_caches(NULL, "16K,768K", "FOVEA_CACHES", 768 << 10);
    check_caches("", "16K,768K", found.cache_source, found.l2_bytes);
    check_caches("", "nonsense", found.cache_source, found.l2_bytes);
    check_caches(NULL, "", found.cache_source, found.l2_bytes);
    check_caches("32K,4K", NULL, "options.caches=32K,4K: L1, the first, is larger", 0);
    check_caches("nonsense", NULL, "options.caches=nonsense: not L1,", 0);
    check_caches(NULL, "nonsense", "FOVEA_CACHES=nonsense: not L1,", 0);
    fovea_engine_destroy(engine);
}

// What an engine says of its profile, given an option (NULL: none) and a variable.
static void check_profile(const char *option, const char *variable, const char *must_say)
{
    struct fovea_engine *engine = NULL;
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    options.profile = option;
    setenv("FOVEA_PROFILE", variable, 1);
    CHECK(fovea_engine_create(&options, &engine) == FOVEA_OK, "an engine without a profile");
    CHECK(strstr(fovea_engine_profile(engine), must_say) == fovea_engine_profile(engine), "\"%.80s\", not \"%.80s\"",
          fovea_engine_profile(engine), must_say);
    fovea_engine_destroy(engine);
    unsetenv("FOVEA_PROFILE");
}

static void test_profile(void)
{
    static char endless[5000], cut[400]; // longer than any path
    memset(endless, '/', sizeof endless - 1);
    snprintf(cut, sizeof cut, "%.300s ignored: its path is too long; none", endless);
    check_profile(NULL, "/nonesuch", "/nonesuch ignored: cannot be opened");
    check_profile("/other", "/nonesuch", "/other ignored: cannot be opened");
    check_profile("", "/nonesuch", "none, the defaults");
    check_profile("none", "/nonesuch", "none, the defaults");
    check_profile(NULL, "none", "none, the defaults");
    check_profile(endless, "none", cut);
    check_profile(NULL, endless, cut);
}

// What FOVEA_VERBOSE says where there is no engine: one line, unless the caller asked for the reason itself.
static void test_told(void)
{
    struct fovea_engine *engine = NULL;
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    char message[512], told[512] = "";
    options.isa = "nonsense";
    FILE *const file = tmpfile();
    const int kept = dup(STDERR_FILENO);
    CHECK(file != NULL && kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0, "stderr");
    for (int verbose = 0; verbose < 2; verbose++) {
        setenv("FOVEA_VERBOSE", verbose ? "1" : "0", 1);
        options.message = NULL;
        CHECK(fovea_engine_create(&options, &engine) == FOVEA_ERR_CONFIG, "no such ISA");
        options.message = message, options.message_size = sizeof message;
        CHECK(fovea_engine_create(&options, &engine) == FOVEA_ERR_CONFIG && strstr(message, "no such ISA"), "%s",
              message);
    }
    unsetenv("FOVEA_VERBOSE");
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    const size_t read = fread(told, 1, sizeof told - 1, file);
    fclose(file);
    CHECK(read > 0 && strstr(told, ": options.isa=nonsense: no such ISA") && strchr(told, '\n') == told + read - 1,
          "\"%s\"", told);
}

static void test_bad_options(void)
{
    struct fovea_engine *engine = (void *)&engine;
    struct fovea_engine_options options = FOVEA_ENGINE_OPTIONS_INIT;
    char message[4] = "xxx", line[40] = "xxx";
    CHECK(fovea_engine_create(&options, NULL) == FOVEA_ERR_NULL, "nowhere to put it");
    options.message = line;
    options.message_size = sizeof line;
    CHECK(fovea_engine_create(&options, NULL) == FOVEA_ERR_NULL && strcmp(line, "engine: out is NULL") == 0, "\"%s\"",
          line);
    options.struct_size = 0;
    CHECK(fovea_engine_create(&options, &engine) == FOVEA_ERR_STRUCT, "struct_size 0");
    options.struct_size = sizeof options + 8;
    options.message = (char *)(uintptr_t)8; // nothing in a foreign struct is believed
    options.message_size = 80;
    CHECK(fovea_engine_create(&options, &engine) == FOVEA_ERR_STRUCT, "struct_size from elsewhere");
    options.message = message;
    options.message_size = sizeof message;
    CHECK(fovea_engine_create(&options, &engine) == FOVEA_ERR_STRUCT && !memcmp(message, "xxx", 4), "\"%s\"", message);
    options.message = NULL;
    options.struct_size = sizeof options;
    options.isa = "nonsense";
    CHECK(fovea_engine_create(&options, &engine) == FOVEA_ERR_CONFIG, "no message wanted");
    options.message = message;
    options.message_size = 3;
    CHECK(fovea_engine_create(&options, &engine) == FOVEA_ERR_CONFIG && strlen(message) == 2 && message[3] == 0,
          "\"%s\"", message);
    const struct fovea_tiling tiling = {.nc = (1u << 20) + 1};
    options.isa = NULL;
    options.tiling = &tiling;
    CHECK(fovea_engine_create(&options, &engine) == FOVEA_ERR_VALUE, "a tile beyond reason");
    CHECK(engine == (void *)&engine, "a failed call wrote an engine");
}

int main(void)
{
    unsetenv("FOVEA_ISA");
    unsetenv("FOVEA_PIN");
    unsetenv("FOVEA_EXCLUDE");
    unsetenv("FOVEA_CACHES");
    test_defaults();
    test_isas_forced();
    test_each_variant();
    test_lists();
    test_caches();
    test_profile();
    test_told();
    test_bad_options();
    return test_done();
}
