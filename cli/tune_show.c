// SPDX-License-Identifier: Apache-2.0
// cli/tune_show.c - profiles for people: the table, the difference of two, and why a shape gets what it gets.
#include "cli/tune.h"
#include "dispatch/adopt.h"

#include <string.h>

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

static void name_of(uint32_t class, char *text, size_t size)
{
    snprintf(text, size, "%s %s", fovea_class_names[class].of, fovea_class_names[class].name);
}

// What would be used without the profile, but for its quarantine, with the caches it was made for.
static struct fovea_tuned default_of(const struct fovea_engine *engine, const struct fovea_profile *profile,
                                     uint32_t class)
{
    struct fovea_machine machine = *fovea_engine_machine(engine);
    const struct fovea_tuned best = tune_default(engine, class, profile->quarantine);
    machine.l1d_bytes = profile->key.l1d_bytes ? profile->key.l1d_bytes : machine.l1d_bytes;
    machine.l2_bytes = profile->key.l2_bytes ? profile->key.l2_bytes : machine.l2_bytes;
    machine.l3_bytes = profile->key.l3_bytes ? profile->key.l3_bytes : machine.l3_bytes;
    return fovea_tuned_default(&machine, class, best.kernel);
}

// "1.034x", or "-" where nothing was measured: it has the default, or was given.
enum { GAIN = 16 };
static void gain_of(const struct fovea_profile *profile, uint32_t class, char text[GAIN])
{
    snprintf(text, GAIN, "-");
    if (profile->has[class] && profile->evidence[class].pairs)
        snprintf(text, GAIN, "%.3fx", profile->evidence[class].gain * 1e-6);
}

// Whether its choices are for this engine's ISA cap; those of another are not used, and not compared with their own
// defaults here.
static bool in_force(const struct fovea_engine *engine, const struct fovea_profile *profile)
{
    return profile->isa == 0 || profile->isa == fovea_engine_choice(engine)->allowed;
}

// A table of a profile's classes, or of the defaults: what differs from the default, and the gain.
static void print_table(const struct fovea_engine *engine, const struct fovea_profile *profile, bool found)
{
    if (found)
        printf("level %s, made for ", fovea_profile_levels[profile->level]);
    else
        printf("this machine: ");
    printf("%s, caches %u %u %u KiB\n", *profile->key.cpu ? profile->key.cpu : "a CPU without a name",
           profile->key.l1d_bytes >> 10, profile->key.l2_bytes >> 10, profile->key.l3_bytes >> 10);
    if (!in_force(engine, profile))
        printf("made for another ISA cap: here only its quarantine counts, and the defaults are those of this cap\n");
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (profile->quarantine[i])
            printf("quarantined: %s, which %s\n", fovea_variant_facts[i].name,
                   fovea_quarantine_names[profile->quarantine[i]]);
    printf("\n%-24s %6s %15s  %s\n", "class", "gain", "95 %", "default -> chosen");
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        char name[64], words[CLI_TUNE_WORDS], interval[32];
        if (!fovea_class_is_tuned(class))
            continue;
        const struct fovea_tuned model = default_of(engine, profile, class);
        const struct fovea_evidence *const e = &profile->evidence[class];
        name_of(class, name, sizeof name);
        if (!profile->has[class]) {
            printf("%-24s %6s %15s  %s\n", name, "-", "",
                   model.kernel >= 0 ? fovea_variant_facts[model.kernel].name : "the default");
            continue;
        }
        char gain[GAIN];
        *interval = '\0';
        if (e->pairs)
            snprintf(interval, sizeof interval, "(%.3f-%.3f)", e->low * 1e-6, e->high * 1e-6);
        gain_of(profile, class, gain);
        cli_tune_changes(class, &model, &profile->tuned[class], words, sizeof words);
        printf("%-24s %6s %15s  %s\n", name, gain, interval, *words ? words : "the default of today");
    }
    printf(
        "\nAll numbers of a class: fovea tune --show --json, or of a problem: fovea tune --explain gemm 128x768x768\n");
}

void cli_tune_json(const struct fovea_engine *engine, const struct fovea_profile *profile)
{
    bool any = false;
    printf("{\"level\": \"%s\", \"in_force\": %s, \"cpu\": ", fovea_profile_levels[profile->level],
           in_force(engine, profile) ? "true" : "false");
    cli_json_string(stdout, profile->key.cpu);
    printf(", \"caches\": [%u, %u, %u],\n \"quarantine\": {", profile->key.l1d_bytes, profile->key.l2_bytes,
           profile->key.l3_bytes);
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (profile->quarantine[i]) {
            printf("%s\"%s\": \"%s\"", any ? ", " : "", fovea_variant_facts[i].name,
                   fovea_quarantine_names[profile->quarantine[i]]);
            any = true;
        }
    printf("},\n \"classes\": [");
    any = false;
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        uint32_t count;
        const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
        if (!fovea_class_is_tuned(class))
            continue;
        const struct fovea_tuned model = default_of(engine, profile, class);
        const struct fovea_tuned *const tuned = profile->has[class] ? &profile->tuned[class] : &model;
        const struct fovea_evidence *const e = &profile->evidence[class];
        printf("%s\n  {\"operator\": \"%s\", \"class\": \"%s\", \"tuned\": %s", any ? "," : "",
               fovea_class_names[class].of, fovea_class_names[class].name, profile->has[class] ? "true" : "false");
        any = true;
        if (tuned->kernel >= 0)
            printf(", \"kernel\": \"%s\"", fovea_variant_facts[tuned->kernel].name);
        for (uint32_t i = 0; i < count; i++)
            printf(", \"%s\": %u", tunables[i].name, tuned->values[i]);
        if (profile->has[class] && e->pairs)
            printf(", \"gain\": %.4f, \"low\": %.4f, \"high\": %.4f, \"p\": %.6f, \"pairs\": %u", e->gain * 1e-6,
                   e->low * 1e-6, e->high * 1e-6, e->p * 1e-6, e->pairs);
        printf("}");
    }
    printf("\n ]}\n");
}

static const char show_help[] = "usage: fovea tune --show [FILE] [--json]\n\n"
                                "The table of a profile (default: the one that programs find): what differs\n"
                                "from the default, the gain and its 95 % interval.\n";
static const char diff_help[] = "usage: fovea tune --diff A B\n\nWhat two profiles choose differently.\n";

int cli_tune_show(int argc, char **argv)
{
    static struct fovea_profile profile;
    char line[4608], why[FOVEA_PROFILE_WHY];
    bool json = false;
    const struct cli_option options[] = {{.name = "--json", .flag = &json}, {.name = NULL}};
    const int files = cli_options("tune --show", show_help, options, argc, argv) - 1;
    if (files < 0)
        return files < -1 ? CLI_OK : CLI_USAGE;
    if (files > 1)
        return cli_error("tune: --show takes one file at most");
    if (files == 1 && !tune_load(argv[1], NULL, &profile, why))
        return cli_error("tune: %s: %s", argv[1], why);
    struct fovea_engine *const engine = cli_tune_engine();
    if (!engine)
        return CLI_USAGE;
    bool found = true;
    if (files == 0) { // what programs find, or the defaults
        const struct fovea_profile_key key = fovea_profile_key(fovea_engine_machine(engine));
        fovea_profile_look(NULL, &key, &profile, &found, line, sizeof line);
        if (!found)
            profile.key = key;
    }
    if (json) {
        cli_tune_json(engine, &profile);
    } else {
        printf("profile: %s\n\n", files == 1 ? argv[1] : line);
        print_table(engine, &profile, found);
    }
    fovea_engine_destroy(engine);
    return CLI_OK;
}

int cli_tune_diff(int argc, char **argv)
{
    static struct fovea_profile profiles[2];
    char why[FOVEA_PROFILE_WHY];
    const struct cli_option none = {.name = NULL};
    const int files = cli_options("tune --diff", diff_help, &none, argc, argv) - 1;
    if (files < 0)
        return files < -1 ? CLI_OK : CLI_USAGE;
    if (files != 2)
        return cli_error("tune: --diff takes two files");
    for (int i = 0; i < 2; i++)
        if (!tune_load(argv[i + 1], NULL, &profiles[i], why))
            return cli_error("tune: %s: %s", argv[i + 1], why);
    struct fovea_engine *const engine = cli_tune_engine();
    if (!engine)
        return CLI_USAGE;
    uint32_t differ = 0;
    for (int i = 0; i < 2; i++)
        if (!in_force(engine, &profiles[i]))
            printf("%c is for another ISA cap: what it has not chosen stands here as the default of this one\n",
                   'A' + i);
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        char name[64], words[CLI_TUNE_WORDS];
        struct fovea_tuned tuned[2];
        char gains[2][GAIN];
        for (int i = 0; i < 2; i++) {
            tuned[i] = profiles[i].has[class] ? profiles[i].tuned[class] : default_of(engine, &profiles[i], class);
            gain_of(&profiles[i], class, gains[i]);
        }
        if (fovea_tuned_same(&tuned[0], &tuned[1]))
            continue;
        if (differ++ == 0)
            printf("%-24s %7s %7s  %s\n", "class", "A", "B", "A -> B");
        name_of(class, name, sizeof name);
        cli_tune_changes(class, &tuned[0], &tuned[1], words, sizeof words);
        printf("%-24s %7s %7s  %s\n", name, gains[0], gains[1], words);
    }
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (profiles[0].quarantine[i] != profiles[1].quarantine[i])
            printf("%-24s A %s, B %s\n", fovea_variant_facts[i].name, fovea_quarantine_names[profiles[0].quarantine[i]],
                   fovea_quarantine_names[profiles[1].quarantine[i]]);
    char count[CLI_THINGS];
    printf("%s differ%s\n", cli_things(count, differ, "class"), differ == 1 ? "s" : "");
    fovea_engine_destroy(engine);
    return CLI_OK;
}
