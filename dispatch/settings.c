// SPDX-License-Identifier: Apache-2.0
// dispatch/settings.c - what the caller's options, or else the environment, say of an engine: caches, ISA cap, pins.
#include "dispatch/settings.h"
#include "dispatch/cpu.h"
#include "dispatch/environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// The CPU bits that an ISA requires, and all that it allows.
static const struct isa {
    uint32_t required, allows;
} isas[FOVEA_ISAS] = {
    [FOVEA_ISA_scalar] = {0, 0},
    [FOVEA_ISA_avx2] = {FOVEA_CPU_AVX2, FOVEA_CPU_AVX2},
    [FOVEA_ISA_avx512] = {FOVEA_CPU_AVX512, FOVEA_CPU_AVX2 | FOVEA_CPU_AVX512 | FOVEA_CPU_VNNI | FOVEA_CPU_BF16},
    [FOVEA_ISA_neon] = {FOVEA_CPU_NEON, FOVEA_CPU_NEON | FOVEA_CPU_DOTPROD | FOVEA_CPU_I8MM | FOVEA_CPU_BF16},
};

enum fovea_status fovea_engine_fail(const struct fovea_engine_options *options, enum fovea_status status,
                                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(options->message, options->message_size, format, args);
    va_end(args);
    return status;
}

// A setting from the options or else from the environment, and its name there. text is NULL if neither gives one; an
// empty string counts as none.
struct setting {
    const char *name, *text;
};

static struct setting setting(const char *option_name, const char *option, const char *variable)
{
    const char *const text = option ? option : fovea_environment(variable);
    return (struct setting){option ? option_name : variable, text && *text ? text : NULL};
}

static struct setting isa_setting(const struct fovea_engine_options *options)
{
    return setting("options.isa", options->isa, "FOVEA_ISA");
}

enum fovea_status fovea_engine_cap(const struct fovea_engine_options *options, const struct fovea_machine *machine,
                                   struct fovea_choice *choice)
{
    const struct setting cap = isa_setting(options);
    if (!cap.text)
        return FOVEA_OK;
    for (size_t i = 0; i < FOVEA_ISAS; i++) {
        if (strcmp(cap.text, fovea_isa_names[i]) != 0)
            continue;
        if (isas[i].required & ~choice->cpu)
            return fovea_engine_fail(options, FOVEA_ERR_UNSUPPORTED, "%s=%s: this CPU has %s", cap.name, cap.text,
                                     *machine->features ? machine->features : "scalar only");
        choice->allowed &= isas[i].allows;
        return FOVEA_OK;
    }
    return fovea_engine_fail(options, FOVEA_ERR_CONFIG, "%s=%.40s: no such ISA (scalar, avx2, avx512, neon)", cap.name,
                             cap.text);
}

// Marks each variant in a list whose names are separated by commas, with or without blanks behind them.
static enum fovea_status mark(const struct fovea_engine_options *options, struct setting from, uint8_t *marks)
{
    for (const char *list = from.text; list && *list;) {
        list += strspn(list, " ");
        const size_t length = strcspn(list, ",");
        const int variant = fovea_variant_find(list, length);
        if (variant < 0)
            return fovea_engine_fail(options, FOVEA_ERR_CONFIG,
                                     "%s: no variant named \"%.*s\"; fovea info --all lists them", from.name,
                                     length < 60 ? (int)length : 60, list);
        marks[variant] = 1;
        list += length + (list[length] == ',');
    }
    return FOVEA_OK;
}

static enum fovea_status check_pin(const struct fovea_choice *choice, const struct fovea_engine_options *options,
                                   const char *name, int pin)
{
    const struct fovea_variant_facts *const facts = &fovea_variant_facts[pin];
    const struct setting cap = isa_setting(options);
    if (facts->required & ~choice->cpu)
        return fovea_engine_fail(options, FOVEA_ERR_UNSUPPORTED, "%s: this CPU cannot run %s", name, facts->name);
    if (facts->required & ~choice->allowed)
        return fovea_engine_fail(options, FOVEA_ERR_CONFIG, "%s: %s is above %s=%s", name, facts->name, cap.name,
                                 cap.text);
    if (choice->excluded[pin])
        return fovea_engine_fail(options, FOVEA_ERR_CONFIG, "%s: %s is excluded", name, facts->name);
    for (int i = 0; i < pin; i++)
        if (choice->pinned[i] && fovea_variant_facts[i].slot == facts->slot)
            return fovea_engine_fail(options, FOVEA_ERR_CONFIG, "%s: %s and %s are for one slot", name,
                                     fovea_variant_facts[i].name, facts->name);
    return FOVEA_OK;
}

enum fovea_status fovea_engine_pin(const struct fovea_engine_options *options, struct fovea_choice *choice)
{
    const struct setting exclude = setting("options.exclude", options->exclude, "FOVEA_EXCLUDE");
    const struct setting pin = setting("options.pin", options->pin, "FOVEA_PIN");
    enum fovea_status status = mark(options, exclude, choice->excluded);
    if (!status)
        status = mark(options, pin, choice->pinned);
    for (int i = 0; i < FOVEA_VARIANTS && !status; i++) {
        if (choice->pinned[i])
            status = check_pin(choice, options, pin.name, i);
        if (!status && choice->excluded[i] && fovea_variant_facts[i].required == 0)
            status = fovea_engine_fail(options, FOVEA_ERR_CONFIG, "%s: %s is the scalar path, which always stays",
                                       exclude.name, fovea_variant_facts[i].name);
    }
    return status;
}

enum fovea_status fovea_engine_caches(const struct fovea_engine_options *options, struct fovea_machine *machine)
{
    const struct setting caches = setting("options.caches", options->caches, "FOVEA_CACHES");
    fovea_cache_probe(machine);
    if (!caches.text)
        return FOVEA_OK;
    if (!fovea_cache_from_text(caches.text, machine))
        return fovea_engine_fail(
            options, FOVEA_ERR_CONFIG,
            "%s=%.40s: not L1,L2[,L3[,hashed|wide|mesh|plain]], as 32K,1M,32M, each of 4K to 2048M", caches.name,
            caches.text);
    if (machine->l1d_bytes > machine->l2_bytes)
        return fovea_engine_fail(options, FOVEA_ERR_CONFIG, "%s=%.40s: L1, the first, is larger than L2", caches.name,
                                 caches.text);
    snprintf(machine->cache_source, sizeof machine->cache_source, "%s", caches.name);
    return FOVEA_OK;
}
