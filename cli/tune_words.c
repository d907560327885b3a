// SPDX-License-Identifier: Apache-2.0
// cli/tune_words.c - what a profile has for a class, in words.
#include "cli/tune.h"
#include "dispatch/adopt.h"

enum { NO_END = 1 << 20, NUMBER = 16 }; // of numbers that are "up to" or "from": the largest

static const char *number_of(uint32_t value, char text[NUMBER])
{
    snprintf(text, NUMBER, "%u", value);
    return value == NO_END ? "any" : text;
}

void cli_tune_words(uint32_t class, const struct fovea_tuned *tuned, char *text, size_t size)
{
    uint32_t count;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
    int used = 0;
    *text = '\0';
    if (tuned->kernel >= 0)
        used = snprintf(text, size, "%s", fovea_variant_facts[tuned->kernel].name);
    for (uint32_t i = 0; i < count && used >= 0 && (size_t)used < size; i++) {
        char number[NUMBER];
        used += snprintf(text + used, size - (size_t)used, "%s%s %s", used ? ", " : "", tunables[i].name,
                         number_of(tuned->values[i], number));
    }
}

void cli_tune_changes(uint32_t class, const struct fovea_tuned *from, const struct fovea_tuned *to, char *text,
                      size_t size)
{
    uint32_t count;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
    int used = 0;
    *text = '\0';
    if (from->kernel != to->kernel)
        used = snprintf(text, size, "%s -> %s", fovea_variant_facts[from->kernel].name,
                        fovea_variant_facts[to->kernel].name);
    for (uint32_t i = 0; i < count && used >= 0 && (size_t)used < size; i++) {
        char numbers[2][NUMBER];
        if (from->values[i] != to->values[i])
            used += snprintf(text + used, size - (size_t)used, "%s%s %s -> %s", used ? ", " : "", tunables[i].name,
                             number_of(from->values[i], numbers[0]), number_of(to->values[i], numbers[1]));
    }
}

void cli_tune_name(uint32_t class, char *text, size_t size)
{
    snprintf(text, size, "%s %s", fovea_class_names[class].of, fovea_class_names[class].name);
}

struct fovea_tuned cli_tune_default(const struct fovea_engine *engine, const struct fovea_profile *profile,
                                    uint32_t class)
{
    struct fovea_machine machine = *fovea_engine_machine(engine);
    const struct fovea_tuned best = tune_default(engine, class, profile->quarantine);
    machine.l1d_bytes = profile->key.l1d_bytes ? profile->key.l1d_bytes : machine.l1d_bytes;
    machine.l2_bytes = fovea_profile_l2(profile) ? fovea_profile_l2(profile) : machine.l2_bytes;
    machine.l3_bytes = profile->key.l3_bytes ? profile->key.l3_bytes : machine.l3_bytes;
    return fovea_tuned_default(&machine, class, best.kernel);
}

void cli_tune_gain(const struct fovea_profile *profile, uint32_t class, char text[CLI_TUNE_GAIN])
{
    snprintf(text, CLI_TUNE_GAIN, "-");
    if (profile->has[class] && profile->evidence[class].pairs)
        snprintf(text, CLI_TUNE_GAIN, "%.3fx", profile->evidence[class].gain * 1e-6);
}

bool cli_tune_in_force(const struct fovea_engine *engine, const struct fovea_profile *profile)
{
    return profile->isa == 0 || profile->isa == fovea_engine_choice(engine)->allowed;
}
