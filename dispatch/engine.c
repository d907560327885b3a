// SPDX-License-Identifier: Apache-2.0
// dispatch/engine.c - creates an engine: probe, settings, profile, resolving, numbers.
#include "dispatch/adopt.h"
#include "dispatch/cpu.h"
#include "dispatch/environment.h"
#include "dispatch/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined __FAST_MATH__ || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__)
#error "compile fovea without fast math: its arithmetic is that of docs/numerics.md"
#endif

struct fovea_engine {
    struct fovea_kernels kernels;
    struct fovea_machine machine;
    struct fovea_choice choice;
    char profile[1024]; // one line about the tuning profile
};

// A tiling given by the caller applies to all classes.
static enum fovea_status set_tiling(struct fovea_engine *engine, const struct fovea_engine_options *options)
{
    const struct fovea_tiling *const t = options->tiling;
    if (!t)
        return FOVEA_OK;
    if (t->kc > 1u << 20 || t->mc > 1u << 20 || t->nc > 1u << 20)
        return fovea_engine_fail(options, FOVEA_ERR_VALUE, "tiling: kc %u, mc %u, nc %u: at most 1048576 each", t->kc,
                                 t->mc, t->nc);
    for (int i = 0; i < FOVEA_GEMM_CLASSES; i++) {
        struct fovea_gemm_tuning *const b = &engine->kernels.tuning.gemm[i];
        b->kc = t->kc ? t->kc : b->kc;
        b->mc = t->mc ? t->mc : b->mc;
        b->nc = t->nc ? t->nc : b->nc;
    }
    return FOVEA_OK;
}

static void name_features(struct fovea_machine *machine)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {{FOVEA_CPU_AVX2, "avx2"}, {FOVEA_CPU_AVX512, "avx512"}, {FOVEA_CPU_NEON, "neon"},
                 {FOVEA_CPU_VNNI, "vnni"}, {FOVEA_CPU_BF16, "bf16"},     {FOVEA_CPU_DOTPROD, "dotprod"},
                 {FOVEA_CPU_I8MM, "i8mm"}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (machine->cpu & names[i].bit)
            used += (size_t)snprintf(machine->features + used, sizeof machine->features - used, "%s%s", used ? " " : "",
                                     names[i].name);
}

// Takes the given profile, or searches for one; that there is none is not an error.
static enum fovea_status find_profile(struct fovea_engine *engine, const struct fovea_engine_options *options,
                                      const struct fovea_profile *given, struct fovea_profile *profile)
{
    struct fovea_machine *const machine = &engine->machine;
    if (given) {
        *profile = *given;
        snprintf(engine->profile, sizeof engine->profile, "given, level %s", fovea_profile_levels[given->level]);
        machine->l1d_bytes = given->key.l1d_bytes ? given->key.l1d_bytes : machine->l1d_bytes;
        machine->l2_reported_bytes = given->key.l2_bytes ? given->key.l2_bytes : machine->l2_bytes;
        machine->l2_bytes = fovea_profile_l2(given) ? fovea_profile_l2(given) : machine->l2_bytes;
        machine->l3_bytes = given->key.l3_bytes ? given->key.l3_bytes : machine->l3_bytes;
        return FOVEA_OK;
    }
    const struct fovea_profile_key key = fovea_profile_key(machine);
    bool found;
    if (fovea_profile_look(options->profile, &key, profile, &found, engine->profile, sizeof engine->profile))
        return fovea_engine_fail(options, FOVEA_ERR_MEMORY, "engine: no memory");
    if (found && profile->isa != engine->choice.allowed) {
        const size_t used = strlen(engine->profile);
        snprintf(engine->profile + used, sizeof engine->profile - used,
                 ", not for this ISA cap: only its quarantine and L2 count");
    }
    if (profile->l2_measured_bytes) // under any cap
        machine->l2_bytes = profile->l2_measured_bytes;
    return FOVEA_OK;
}

// With FOVEA_VERBOSE, unless it is 0, an engine prints a line, the only one libfovea ever prints: what was chosen, or
// why there is no engine.
static void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print(const char *format, ...)
{
    const char *const verbose = fovea_environment("FOVEA_VERBOSE");
    char line[1200];
    if (!verbose || !*verbose || strcmp(verbose, "0") == 0)
        return;
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (write(STDERR_FILENO, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1) < 0)
        return; // nobody is listening
}

static void print_choice(const struct fovea_engine *engine)
{
    const uint32_t workers = engine->kernels.workers;
    print("fovea %s: cpu %s; gemm kernel %s; for %u worker%s; profile: %s\n", fovea_version(),
          *engine->machine.features ? engine->machine.features : "scalar", engine->kernels.gemm.name, workers,
          workers == 1 ? "" : "s", engine->profile);
}

static enum fovea_status fill(struct fovea_engine *engine, const struct fovea_engine_options *options,
                              const struct fovea_profile *given, struct fovea_profile *profile)
{
    engine->machine.cpu = fovea_cpu_probe();
    fovea_cpu_brand(engine->machine.brand, sizeof engine->machine.brand);
    name_features(&engine->machine);
    engine->machine.processors = fovea_cpu_count();
    engine->choice.cpu = engine->choice.allowed = engine->machine.cpu;

    enum fovea_status status = fovea_engine_caches(options, &engine->machine);
    engine->machine.l2_reported_bytes = engine->machine.l2_bytes;
    if (!status)
        status = fovea_engine_cap(options, &engine->machine, &engine->choice);
    if (!status)
        status = fovea_engine_pin(options, &engine->choice);
    if (!status)
        status = find_profile(engine, options, given, profile);
    if (status)
        return status;
    fovea_model_prefers(&engine->machine, engine->choice.preferred);
    fovea_profile_choose(profile, &engine->choice);
    fovea_resolve(&engine->choice, &engine->kernels);
    engine->kernels.cpu = engine->choice.allowed;
    engine->kernels.workers = options->workers ? options->workers : engine->machine.processors;
    fovea_tuning_defaults(&engine->machine, &engine->kernels);
    fovea_profile_apply(profile, &engine->choice, &engine->kernels);
    status = set_tiling(engine, options);
    if (!status && !given)
        print_choice(engine);
    return status;
}

// With options that have a message.
static enum fovea_status create(const struct fovea_engine_options *options, const struct fovea_profile *given,
                                struct fovea_engine **out)
{
    if (!out)
        return fovea_engine_fail(options, FOVEA_ERR_NULL, "engine: out is NULL");
    struct fovea_engine *const engine = calloc(1, sizeof *engine);
    struct fovea_profile *const profile = calloc(1, sizeof *profile);
    const enum fovea_status status = engine && profile
                                         ? fill(engine, options, given, profile)
                                         : fovea_engine_fail(options, FOVEA_ERR_MEMORY, "engine: no memory");
    free(profile);
    if (status)
        free(engine);
    else
        *out = engine;
    return status;
}

static const struct fovea_engine_options defaults = FOVEA_ENGINE_OPTIONS_INIT;

enum fovea_status fovea_engine_options_init(struct fovea_engine_options *options, size_t size)
{
    if (!options)
        return FOVEA_ERR_NULL;
    if (size != sizeof *options)
        return FOVEA_ERR_STRUCT;
    *options = defaults;
    return FOVEA_OK;
}

enum fovea_status fovea_engine_create_with(const struct fovea_engine_options *options,
                                           const struct fovea_profile *given, struct fovea_engine **out)
{
    if (!options)
        options = &defaults;
    if (options->struct_size != sizeof *options) // no field of it is trusted, not even message
        return FOVEA_ERR_STRUCT;
    const bool asked = options->message && options->message_size;
    char message[240] = "";
    struct fovea_engine_options own = *options;
    own.message = asked ? options->message : message;
    own.message_size = asked ? options->message_size : sizeof message;
    *own.message = '\0';
    const enum fovea_status status = create(&own, given, out);
    if (status && !asked) // nobody else could tell
        print("fovea %s: %s\n", fovea_version(), message);
    return status;
}

enum fovea_status fovea_engine_create(const struct fovea_engine_options *options, struct fovea_engine **out)
{
    return fovea_engine_create_with(options, NULL, out);
}

struct fovea_engine *fovea_engine_copy_with(const struct fovea_engine *engine, uint32_t class,
                                            const struct fovea_tuned *tuned)
{
    struct fovea_engine *const copy = malloc(sizeof *copy);
    if (copy) {
        *copy = *engine;
        fovea_tuned_set(&copy->kernels, class, tuned);
    }
    return copy;
}

struct fovea_engine *fovea_engine_copy_of_l2(const struct fovea_engine *engine, uint32_t bytes)
{
    struct fovea_engine *const copy = malloc(sizeof *copy);
    if (copy) {
        *copy = *engine;
        copy->machine.l2_bytes = bytes;
        fovea_tuning_defaults(&copy->machine, &copy->kernels);
    }
    return copy;
}

struct fovea_engine *fovea_engine_copy_without(const struct fovea_engine *engine, const uint8_t *banned)
{
    struct fovea_engine *const copy = malloc(sizeof *copy);
    if (copy) {
        *copy = *engine;
        for (uint32_t i = 0; i < FOVEA_VARIANTS; i++) {
            copy->choice.quarantined[i] |= banned[i] != 0;
            copy->choice.chosen[i] = 0;
        }
        fovea_resolve(&copy->choice, &copy->kernels);
        fovea_tuning_defaults(&copy->machine, &copy->kernels);
    }
    return copy;
}

const struct fovea_choice *fovea_engine_choice(const struct fovea_engine *engine)
{
    return &engine->choice;
}

const char *fovea_engine_profile(const struct fovea_engine *engine)
{
    return engine ? engine->profile : NULL;
}

void fovea_engine_destroy(struct fovea_engine *engine)
{
    free(engine);
}

const struct fovea_kernels *fovea_engine_kernels(const struct fovea_engine *engine)
{
    return &engine->kernels;
}

const struct fovea_machine *fovea_engine_machine(const struct fovea_engine *engine)
{
    return engine ? &engine->machine : NULL;
}
