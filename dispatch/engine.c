// SPDX-License-Identifier: Apache-2.0
// dispatch/engine.c - makes an engine: probe, cap, pin, resolve, block sizes.
#include "dispatch/cpu.h"
#include "dispatch/resolve.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fovea_engine {
    struct fovea_kernels kernels;
    struct fovea_machine machine;
    struct fovea_choice choice;
    const char *cap; // the name of the ISA cap, NULL: none
};

// Every ISA fovea knows, compiled here or not, and the CPU bits it allows.
static const struct isa {
    const char *name;
    uint32_t required, allows;
} isas[] = {
    {"scalar", 0, 0},
    {"avx2", FOVEA_CPU_AVX2, FOVEA_CPU_AVX2},
    {"avx512", FOVEA_CPU_AVX512, FOVEA_CPU_AVX2 | FOVEA_CPU_AVX512 | FOVEA_CPU_VNNI | FOVEA_CPU_BF16},
    {"neon", FOVEA_CPU_NEON, FOVEA_CPU_NEON | FOVEA_CPU_DOTPROD | FOVEA_CPU_I8MM | FOVEA_CPU_BF16},
};

static enum fovea_status fail(const struct fovea_engine_options *options, enum fovea_status status, const char *format,
                              ...) __attribute__((format(printf, 3, 4)));
static enum fovea_status fail(const struct fovea_engine_options *options, enum fovea_status status, const char *format,
                              ...)
{
    if (options->message && options->message_size) {
        va_list args;
        va_start(args, format);
        vsnprintf(options->message, options->message_size, format, args);
        va_end(args);
    }
    return status;
}

// A setting from the options, else from the environment; NULL where neither gives one. An empty string is none.
static const char *setting(const char *option, const char *variable)
{
    const char *const text = option ? option : getenv(variable);
    return text && *text ? text : NULL;
}

static enum fovea_status cap_isa(struct fovea_engine *engine, const struct fovea_engine_options *options)
{
    const char *const name = setting(options->isa, "FOVEA_ISA");
    if (!name)
        return FOVEA_OK;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (strcmp(name, isas[i].name) != 0)
            continue;
        if (isas[i].required & ~engine->choice.cpu)
            return fail(options, FOVEA_ERR_UNSUPPORTED, "FOVEA_ISA=%s: this CPU has %s", name,
                        *engine->machine.features ? engine->machine.features : "scalar only");
        engine->choice.allowed &= isas[i].allows;
        engine->cap = isas[i].name;
        return FOVEA_OK;
    }
    return fail(options, FOVEA_ERR_CONFIG, "FOVEA_ISA=%.40s: no such ISA (scalar, avx2, avx512, neon)", name);
}

// The variant of that name, or -1.
static int find_variant(const char *name, size_t length)
{
    for (int i = 0; i < FOVEA_VARIANTS; i++)
        if (strlen(fovea_variant_facts[i].name) == length && strncmp(fovea_variant_facts[i].name, name, length) == 0)
            return i;
    return -1;
}

// Marks each variant of a comma-separated list.
static enum fovea_status mark(const struct fovea_engine_options *options, const char *variable, const char *list,
                              uint8_t *marks)
{
    while (list && *list) {
        const size_t length = strcspn(list, ",");
        const int variant = find_variant(list, length);
        if (variant < 0)
            return fail(options, FOVEA_ERR_CONFIG, "%s: no variant named %.*s", variable,
                        length < 60 ? (int)length : 60, list);
        marks[variant] = 1;
        list += length + (list[length] == ',');
    }
    return FOVEA_OK;
}

static enum fovea_status check_pin(const struct fovea_engine *engine, const struct fovea_engine_options *options,
                                   int pin)
{
    const struct fovea_choice *const choice = &engine->choice;
    const struct fovea_variant_facts *const facts = &fovea_variant_facts[pin];
    if (facts->required & ~choice->cpu)
        return fail(options, FOVEA_ERR_UNSUPPORTED, "FOVEA_PIN: this CPU cannot run %s", facts->name);
    if (facts->required & ~choice->allowed)
        return fail(options, FOVEA_ERR_CONFIG, "FOVEA_PIN: %s is above FOVEA_ISA=%s", facts->name, engine->cap);
    if (choice->excluded[pin])
        return fail(options, FOVEA_ERR_CONFIG, "FOVEA_PIN: %s is excluded", facts->name);
    for (int i = 0; i < pin; i++)
        if (choice->pinned[i] && strcmp(fovea_variant_facts[i].slot, facts->slot) == 0)
            return fail(options, FOVEA_ERR_CONFIG, "FOVEA_PIN: %s and %s are for one slot",
                        fovea_variant_facts[i].name, facts->name);
    return FOVEA_OK;
}

static enum fovea_status pin_and_exclude(struct fovea_engine *engine, const struct fovea_engine_options *options)
{
    struct fovea_choice *const choice = &engine->choice;
    enum fovea_status status =
        mark(options, "FOVEA_EXCLUDE", setting(options->exclude, "FOVEA_EXCLUDE"), choice->excluded);
    if (!status)
        status = mark(options, "FOVEA_PIN", setting(options->pin, "FOVEA_PIN"), choice->pinned);
    for (int i = 0; i < FOVEA_VARIANTS && !status; i++) {
        if (choice->pinned[i])
            status = check_pin(engine, options, i);
        if (!status && choice->excluded[i] && fovea_variant_facts[i].required == 0)
            status = fail(options, FOVEA_ERR_CONFIG, "FOVEA_EXCLUDE: %s is the scalar path, which always stays",
                          fovea_variant_facts[i].name);
    }
    return status;
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : value;
}

// Block sizes for a tile of nr columns: long k blocks, for which B streams from L2 and a tile of A stays in L1; two
// groups of strips in L2, one computed, one prefetched. A group is one wide strip (AVX-512) or two narrow ones, and A's
// chunk of mc rows takes 3/8 or 5/8 of L2.
static struct fovea_blocking default_blocking(const struct fovea_machine *machine, uint32_t nr)
{
    const uint32_t floats2 = machine->l2_bytes / (uint32_t)sizeof(float), eighths = nr > 16 ? 3 : 5;
    struct fovea_blocking b;
    b.kc = clamp(floats2 / 256, 256, 1024);
    b.mc = clamp(floats2 / 8 * eighths / b.kc / 18 * 18, 54, 480);
    b.nc = nr > 16 ? nr : 2 * nr;
    return b;
}

static enum fovea_status set_blocking(struct fovea_engine *engine, const struct fovea_engine_options *options)
{
    struct fovea_blocking *const b = &engine->kernels.blocking;
    *b = default_blocking(&engine->machine, engine->kernels.gemm.nr);
    const struct fovea_tiling *const t = options->tiling;
    if (!t)
        return FOVEA_OK;
    if (t->kc > 1u << 20 || t->mc > 1u << 20 || t->nc > 1u << 20)
        return fail(options, FOVEA_ERR_VALUE, "tiling: kc %u, mc %u, nc %u: at most 1048576 each", t->kc, t->mc, t->nc);
    b->kc = t->kc ? t->kc : b->kc;
    b->mc = t->mc ? t->mc : b->mc;
    b->nc = t->nc ? t->nc : b->nc;
    return FOVEA_OK;
}

static void name_features(struct fovea_machine *machine)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {{FOVEA_CPU_AVX2, "avx2"}, {FOVEA_CPU_AVX512, "avx512"},   {FOVEA_CPU_NEON, "neon"},
                 {FOVEA_CPU_VNNI, "vnni"}, {FOVEA_CPU_BF16, "bf16"},       {FOVEA_CPU_DOTPROD, "dotprod"},
                 {FOVEA_CPU_I8MM, "i8mm"}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (machine->cpu & names[i].bit)
            used += (size_t)snprintf(machine->features + used, sizeof machine->features - used, "%s%s",
                                     used ? " " : "", names[i].name);
}

static enum fovea_status fill(struct fovea_engine *engine, const struct fovea_engine_options *options)
{
    engine->machine.cpu = fovea_cpu_probe();
    fovea_cpu_brand(engine->machine.brand, sizeof engine->machine.brand);
    fovea_cache_probe(&engine->machine);
    name_features(&engine->machine);
    engine->choice.cpu = engine->choice.allowed = engine->machine.cpu;

    enum fovea_status status = cap_isa(engine, options);
    if (!status)
        status = pin_and_exclude(engine, options);
    if (!status) {
        fovea_resolve(&engine->choice, &engine->kernels);
        engine->kernels.cpu = engine->choice.allowed;
        status = set_blocking(engine, options);
    }
    return status;
}

enum fovea_status fovea_engine_create(const struct fovea_engine_options *options, struct fovea_engine **out)
{
    static const struct fovea_engine_options defaults = FOVEA_ENGINE_OPTIONS_INIT;
    if (!out)
        return FOVEA_ERR_NULL;
    if (!options)
        options = &defaults;
    if (options->struct_size != sizeof *options)
        return FOVEA_ERR_STRUCT;
    struct fovea_engine *const engine = calloc(1, sizeof *engine);
    if (!engine)
        return fail(options, FOVEA_ERR_MEMORY, "engine: no memory");
    const enum fovea_status status = fill(engine, options);
    if (status) {
        free(engine);
        return status;
    }
    *out = engine;
    return FOVEA_OK;
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

uint32_t fovea_engine_variants(const struct fovea_engine *engine)
{
    (void)engine;
    return FOVEA_VARIANTS;
}

enum fovea_status fovea_engine_variant(const struct fovea_engine *engine, uint32_t index, struct fovea_variant *out)
{
    if (!engine || !out)
        return FOVEA_ERR_NULL;
    if (index >= FOVEA_VARIANTS)
        return FOVEA_ERR_SHAPE;
    const struct fovea_choice *const choice = &engine->choice;
    const struct fovea_variant_facts *const facts = &fovea_variant_facts[index];
    const int chosen = choice->chosen[index];
    const char *const why = chosen && choice->pinned[index]       ? "chosen: pinned by name"
                            : chosen                              ? "chosen"
                            : choice->excluded[index]             ? "excluded by name"
                            : facts->required & ~choice->cpu      ? "this CPU lacks it"
                            : facts->required & ~choice->allowed  ? "above the ISA cap"
                                                                  : "another variant is better or pinned";
    *out = (struct fovea_variant){facts->slot, facts->name, facts->isa, why, (uint32_t)chosen};
    return FOVEA_OK;
}
