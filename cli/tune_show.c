// SPDX-License-Identifier: Apache-2.0
// cli/tune_show.c - fovea tune --show: the table of a profile.
#include "cli/tune.h"

static const char help[] = "usage: fovea tune --show [FILE] [--all] [--json]\n\n"
                           "The table of a profile (default: the one that programs find): the classes whose\n"
                           "choice differs from the default, the gain and its 95 % interval.\n\n"
                           "  --all   every class\n"
                           "  --json  every class, with all its numbers\n";

static void print_head(const struct fovea_engine *engine, const struct fovea_profile *profile, bool found)
{
    if (found)
        printf("level %s, made for ", fovea_profile_levels[profile->level]);
    else
        printf("this machine: ");
    printf("%s, caches %u %u %u KiB\n", *profile->key.cpu ? profile->key.cpu : "a CPU without a name",
           profile->key.l1d_bytes >> 10, profile->key.l2_bytes >> 10, profile->key.l3_bytes >> 10);
    if (profile->l2_measured_bytes)
        printf("an L2 of %u KiB was measured; the defaults are of that\n", profile->l2_measured_bytes >> 10);
    if (!cli_tune_in_force(engine, profile))
        printf("made for another ISA cap: here only its quarantine and L2 count, and the defaults are those of this "
               "cap\n");
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (profile->quarantine[i])
            printf("quarantined: %s, which %s\n", fovea_variant_facts[i].name,
                   fovea_quarantine_names[profile->quarantine[i]]);
    putchar('\n');
}

static void print_class(const struct fovea_profile *profile, uint32_t class, const char *words)
{
    char name[64], gain[CLI_TUNE_GAIN], interval[32] = "";
    const struct fovea_evidence *const e = &profile->evidence[class];
    if (profile->has[class] && e->pairs)
        snprintf(interval, sizeof interval, "(%.3f-%.3f)", e->low * 1e-6, e->high * 1e-6);
    cli_tune_name(class, name, sizeof name);
    cli_tune_gain(profile, class, gain);
    printf("%-*s %6s %15s  %s\n", CLI_TUNE_NAME, name, gain, interval, words);
}

// The classes with what differs from the default and the gain, then those (all) that have the default.
static void print_table(const struct fovea_engine *engine, const struct fovea_profile *profile, bool all)
{
    uint32_t shown = 0, same = 0;
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        char words[CLI_TUNE_WORDS] = "";
        if (!fovea_class_is_tuned(class))
            continue;
        const struct fovea_tuned model = cli_tune_default(engine, profile, class);
        if (profile->has[class])
            cli_tune_changes(class, &model, &profile->tuned[class], words, sizeof words);
        same += *words == '\0';
        if (*words == '\0' && !all)
            continue;
        if (shown++ == 0)
            printf("%-*s %6s %15s  %s\n", CLI_TUNE_NAME, "class", "gain", "95 %", "default -> chosen");
        print_class(profile, class,
                    *words                ? words
                    : profile->has[class] ? "the default of today"
                    : model.kernel >= 0   ? fovea_variant_facts[model.kernel].name
                                          : "the default");
    }
    char count[CLI_THINGS];
    if (shown)
        putchar('\n');
    if (!all && same)
        printf("%s keep%s the default: --all lists them.\n", cli_things(count, same, "class"), same == 1 ? "s" : "");
    printf("All numbers: fovea tune --show --json, of a problem: fovea tune --explain.\n");
}

void cli_tune_json_choice(uint32_t class, const struct fovea_tuned *tuned)
{
    uint32_t count;
    const struct fovea_tunable *const tunables = fovea_tunables(fovea_class(class).kind, &count);
    if (tuned->kernel >= 0)
        printf("\"kernel\": \"%s\"", fovea_variant_facts[tuned->kernel].name);
    for (uint32_t i = 0; i < count; i++)
        printf("%s\"%s\": %u", i || tuned->kernel >= 0 ? ", " : "", tunables[i].name, tuned->values[i]);
}

void cli_tune_json(const struct fovea_engine *engine, const struct fovea_profile *profile)
{
    bool any = false;
    printf("{\"level\": \"%s\", \"in_force\": %s, \"cpu\": ", fovea_profile_levels[profile->level],
           cli_tune_in_force(engine, profile) ? "true" : "false");
    cli_json_string(stdout, profile->key.cpu);
    printf(", \"caches\": [%u, %u, %u], \"l2_measured_bytes\": %u,\n \"quarantine\": {", profile->key.l1d_bytes,
           profile->key.l2_bytes, profile->key.l3_bytes, profile->l2_measured_bytes);
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (profile->quarantine[i]) {
            printf("%s\"%s\": \"%s\"", any ? ", " : "", fovea_variant_facts[i].name,
                   fovea_quarantine_names[profile->quarantine[i]]);
            any = true;
        }
    printf("},\n \"classes\": [");
    any = false;
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        if (!fovea_class_is_tuned(class))
            continue;
        const struct fovea_tuned model = cli_tune_default(engine, profile, class);
        const struct fovea_tuned *const tuned = profile->has[class] ? &profile->tuned[class] : &model;
        const struct fovea_evidence *const e = &profile->evidence[class];
        printf("%s\n  {\"operator\": \"%s\", \"class\": \"%s\", \"tuned\": %s, ", any ? "," : "",
               fovea_class_names[class].of, fovea_class_names[class].name, profile->has[class] ? "true" : "false");
        any = true;
        cli_tune_json_choice(class, tuned);
        if (profile->has[class] && e->pairs)
            printf(", \"gain\": %.4f, \"low\": %.4f, \"high\": %.4f, \"p\": %.6f, \"pairs\": %u", e->gain * 1e-6,
                   e->low * 1e-6, e->high * 1e-6, e->p * 1e-6, e->pairs);
        printf("}");
    }
    printf("\n ]}\n");
}

int cli_tune_show(int argc, char **argv)
{
    static struct fovea_profile profile;
    char line[4608], why[FOVEA_PROFILE_WHY];
    bool json = false, all = false;
    const struct cli_option options[] = {
        {.name = "--all", .flag = &all}, {.name = "--json", .flag = &json}, {.name = NULL}};
    const int files = cli_options("tune --show", help, options, argc, argv) - 1;
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
        print_head(engine, &profile, found);
        print_table(engine, &profile, all);
    }
    fovea_engine_destroy(engine);
    return CLI_OK;
}
