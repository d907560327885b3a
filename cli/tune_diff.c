// SPDX-License-Identifier: Apache-2.0
// cli/tune_diff.c - fovea tune --diff: what two profiles choose differently.
#include "cli/tune.h"

#include <string.h>

static const char help[] = "usage: fovea tune --diff A B\n\nWhat two profiles choose differently.\n";

int cli_tune_diff(int argc, char **argv)
{
    static struct fovea_profile profiles[2];
    char why[FOVEA_PROFILE_WHY];
    const struct cli_option none = {.name = NULL};
    const int files = cli_options("tune --diff", help, &none, argc, argv) - 1;
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
    const uint32_t l2[] = {fovea_profile_l2(&profiles[0]), fovea_profile_l2(&profiles[1])};
    if (l2[0] != l2[1])
        printf("A is for an L2 of %u KiB, B of %u\n", l2[0] >> 10, l2[1] >> 10);
    for (int i = 0; i < 2; i++)
        if (!cli_tune_in_force(engine, &profiles[i]))
            printf("%c is for another ISA cap: what it has not chosen stands here as the default of this one\n",
                   'A' + i);
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        char name[64], words[CLI_TUNE_WORDS];
        struct fovea_tuned tuned[2];
        char gains[2][CLI_TUNE_GAIN];
        for (int i = 0; i < 2; i++) {
            tuned[i] =
                profiles[i].has[class] ? profiles[i].tuned[class] : cli_tune_default(engine, &profiles[i], class);
            cli_tune_gain(&profiles[i], class, gains[i]);
        }
        if (fovea_tuned_same(&tuned[0], &tuned[1]))
            continue;
        if (differ++ == 0)
            printf("%-*s %7s %7s  %s\n", CLI_TUNE_NAME, "class", "A", "B", "A -> B");
        cli_tune_name(class, name, sizeof name);
        cli_tune_changes(class, &tuned[0], &tuned[1], words, sizeof words);
        printf("%-*s %7s %7s  %s\n", CLI_TUNE_NAME, name, gains[0], gains[1], words);
    }
    for (uint32_t i = 0; i < FOVEA_VARIANTS; i++)
        if (profiles[0].quarantine[i] != profiles[1].quarantine[i])
            printf("%-*s A %s, B %s\n", CLI_TUNE_NAME, fovea_variant_facts[i].name,
                   fovea_quarantine_names[profiles[0].quarantine[i]],
                   fovea_quarantine_names[profiles[1].quarantine[i]]);
    char count[CLI_THINGS];
    printf("%s differ%s\n", cli_things(count, differ, "class"), differ == 1 ? "s" : "");
    fovea_engine_destroy(engine);
    return CLI_OK;
}
