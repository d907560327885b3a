// SPDX-License-Identifier: Apache-2.0
// cli/info.c - fovea info: the machine, the kernels chosen, and why the others were not.
#include "cli/cli.h"

#include <stdbool.h>
#include <string.h>

static const char help[] = "usage: fovea info [--all] [--json]\n\n"
                           "Prints the CPU and caches as found, the tuning profile in use or why one is\n"
                           "ignored, the settings of the environment, and the kernel variants in use; with\n"
                           "--all every compiled variant, and why it is in use or not. --json always has\n"
                           "all.\n\n"
                           "examples:\n"
                           "  fovea info\n"
                           "  FOVEA_ISA=avx2 fovea info    what a machine without AVX-512 would use\n"
                           "  fovea info --json | python3 -m json.tool\n";

static void print_cache(const char *name, uint32_t bytes, uint32_t ways, const char *more)
{
    if (bytes == 0)
        return;
    printf("  %-9s %6u KiB", name, bytes >> 10);
    if (ways > 1)
        printf(", %u ways", ways);
    printf("%s\n", more);
}

static void print_settings(void)
{
    bool any = false;
    printf("  %-9s", "settings");
    for (size_t i = 0; cli_settings[i]; i++) {
        const char *const text = cli_setting(cli_settings[i]);
        if (text)
            printf(" %s=%s", cli_settings[i], text);
        any |= text != NULL;
    }
    puts(any ? "" : " none");
}

static bool is_first_of_slot(const struct fovea_engine *engine, uint32_t index, const struct fovea_variant *v)
{
    struct fovea_variant before;
    for (uint32_t i = 0; i < index; i++)
        if (fovea_engine_variant(engine, i, &before) == FOVEA_OK && strcmp(before.slot, v->slot) == 0)
            return false;
    return true;
}

enum { SLOT = 21, NAME = 39 }; // columns: as many as attention_decode_bf16 has, and its variant halves

// The variants of a slot, the first of which is `first`; returns how many are not in use and not shown.
static uint32_t print_slot(const struct fovea_engine *engine, uint32_t first, const char *slot, bool all)
{
    uint32_t others = 0;
    for (uint32_t i = first; i < fovea_engine_variants(engine); i++) {
        struct fovea_variant v;
        if (fovea_engine_variant(engine, i, &v) != FOVEA_OK || strcmp(v.slot, slot) != 0)
            continue;
        if (all || v.chosen || v.also)
            printf("  %-*s %-*s %c %s\n", SLOT, v.slot, NAME, v.name, v.chosen ? '*' : v.also ? '+' : ' ', v.why);
        else
            others++;
    }
    return others;
}

// The register goes by ISA and family; here the variants of a slot lie together.
static void print_variants(const struct fovea_engine *engine, bool all)
{
    uint32_t others = 0;
    printf("  %-*s %-*s   %s\n", SLOT, "slot", NAME, "variant", "why");
    for (uint32_t i = 0; i < fovea_engine_variants(engine); i++) {
        struct fovea_variant v;
        if (fovea_engine_variant(engine, i, &v) == FOVEA_OK && is_first_of_slot(engine, i, &v))
            others += print_slot(engine, i, v.slot, all);
    }
    if (others > 0)
        printf("\n%u other variants are not in use: fovea info --all says why.\n", others);
}

static void print_text(const struct fovea_engine *engine, const struct fovea_machine *machine, bool all)
{
    printf("fovea %s\n\n", fovea_version());
    printf("  %-9s %s, %u processor%s\n", "cpu", *machine->brand ? machine->brand : "(does not tell its name)",
           machine->processors, machine->processors == 1 ? "" : "s");
    printf("  %-9s %s%s\n", "features", *machine->features ? machine->features : "scalar only (slow)",
           machine->wide512 && strstr(machine->features, "avx512") ? ", 512 bits at once" : "");
    print_cache("L1 data", machine->l1d_bytes, machine->l1d_ways, "");
    char reported[80] = "";
    if (machine->l2_reported_bytes != machine->l2_bytes)
        snprintf(reported, sizeof reported, ", measured by the profile; this machine reports %u KiB",
                 machine->l2_reported_bytes >> 10);
    print_cache("L2", machine->l2_bytes, machine->l2_ways, reported);
    print_cache("L3", machine->l3_bytes, machine->l3_ways, machine->l3_hashed ? ", hashed over slices" : "");
    printf("  %-9s %s\n", "caches by", machine->cache_source);
    printf("  %-9s %s\n", "profile", fovea_engine_profile(engine));
    print_settings();
    putchar('\n');
    print_variants(engine, all);
}

static void print_json(const struct fovea_engine *engine, const struct fovea_machine *machine)
{
    printf("{\"version\": \"%s\", \"cpu\": ", fovea_version());
    cli_json_string(stdout, machine->brand);
    printf(", \"features\": ");
    cli_json_string(stdout, machine->features);
    printf(",\n \"processors\": %u", machine->processors);
    printf(",\n \"l1d_bytes\": %u, \"l2_bytes\": %u, \"l2_reported_bytes\": %u, \"l3_bytes\": %u, \"l3_hashed\": %s, "
           "\"wide512\": %s, \"cache_source\": \"%s\",\n \"profile\": ",
           machine->l1d_bytes, machine->l2_bytes, machine->l2_reported_bytes, machine->l3_bytes,
           machine->l3_hashed ? "true" : "false", machine->wide512 ? "true" : "false", machine->cache_source);
    cli_json_string(stdout, fovea_engine_profile(engine));
    printf(",\n \"settings\": {");
    bool any = false;
    for (size_t i = 0; cli_settings[i]; i++) {
        const char *const text = cli_setting(cli_settings[i]);
        if (text) {
            printf("%s\"%s\": ", any ? ", " : "", cli_settings[i]);
            cli_json_string(stdout, text);
            any = true;
        }
    }
    printf("},\n \"variants\": [");
    for (uint32_t i = 0; i < fovea_engine_variants(engine); i++) {
        struct fovea_variant v;
        if (fovea_engine_variant(engine, i, &v) == FOVEA_OK)
            printf("%s\n  {\"slot\": \"%s\", \"name\": \"%s\", \"isa\": \"%s\", \"chosen\": %s, \"also\": %s, \"why\": "
                   "\"%s\"}",
                   i ? "," : "", v.slot, v.name, v.isa, v.chosen ? "true" : "false", v.also ? "true" : "false", v.why);
    }
    printf("\n ]}\n");
}

int cli_info(int argc, char **argv)
{
    bool json = false, all = false;
    const struct cli_option options[] = {
        {.name = "--all", .flag = &all},
        {.name = "--json", .flag = &json},
        {.name = NULL},
    };
    const int left = cli_only_options("info", help, options, argc, argv);
    if (left <= 0)
        return left < 0 ? CLI_OK : CLI_USAGE;
    struct fovea_engine *const engine = cli_engine(0);
    if (!engine)
        return CLI_USAGE;
    if (json)
        print_json(engine, fovea_engine_machine(engine));
    else
        print_text(engine, fovea_engine_machine(engine), all);
    fovea_engine_destroy(engine);
    return CLI_OK;
}
