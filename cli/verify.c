// SPDX-License-Identifier: Apache-2.0
// cli/verify.c - fovea verify: every kernel of this CPU against the scalar path, bit for bit.
//
// The cases are those of the project's own kernel tests (tests/check), fewer of them: guard pages around every buffer,
// tails, strides, NaN, infinities, denormals. A kernel that differs or crashes is named for FOVEA_EXCLUDE, and put into
// quarantine where that is asked. The scalar path, which nothing replaces, is held against the float64 oracle.
#include "cli/tune.h"
#include "dispatch/cpu.h"
#include "tests/check/run.h"

#include <string.h>

static const char help[] = "usage: fovea verify [--cases N] [--quiet] [--quarantine[=FILE] | --system]\n\n"
                           "Compares every kernel variant this CPU can run with the scalar path, bit for\n"
                           "bit, and the scalar path with float64, within the bounds of docs/numerics.md.\n"
                           "Exit status 0: all hold. 1: some differ; they are named, with the setting that\n"
                           "keeps them out of use.\n\n"
                           "  --cases N   cases of each variant, 1 to 1000000 (default 100)\n"
                           "  --quiet     print only what differs, and how many hold\n"
                           "  --quarantine[=FILE]  write those that differ into the tuning profile, which\n"
                           "              keeps them out of use from then on (default: where fovea tune\n"
                           "              writes)\n"
                           "  --system    the same in /var/lib/fovea/profile, for all users of this machine\n";

static uint64_t failures(const struct check_variant *variant, const struct check_options *options)
{
    uint64_t failed = 0;
    for (uint64_t i = 0; i < options->cases; i++)
        failed += !check_run_case(variant, options, i, failed > 0);
    return failed;
}

// The profile that what differs will be written into. False, having said so, where it cannot be: said after some
// minutes it would be late.
static bool find_profile(const char *file, bool system, char path[4096])
{
    char why[FOVEA_PROFILE_WHY];
    if (file)
        snprintf(path, 4096, "%s", file);
    else if (!cli_tune_place("verify", "--quarantine=", system, path))
        return false;
    return tune_can_save(path, !file, why) || (cli_error("verify: %s: cannot be written: %s", path, why), false);
}

// Marks what differed; check_variants has the order of the registers.
static int put_into_quarantine(const char *path, bool folders, const uint8_t *quarantine)
{
    char why[FOVEA_PROFILE_WHY];
    struct fovea_engine *const engine = cli_tune_engine();
    const bool ok = engine && tune_quarantine(path, folders, engine, quarantine, why);
    fovea_engine_destroy(engine);
    if (!engine)
        return CLI_USAGE;
    if (!ok)
        return cli_error("verify: %s: cannot be written: %s", path, why);
    printf("wrote %s\n", path);
    return CLI_OK;
}

static int verify(const struct check_options *options, bool quiet, uint8_t *quarantine)
{
    const uint32_t cpu = fovea_cpu_probe();
    const unsigned long long cases = options->cases;
    size_t equal = 0, differ = 0, sound = 0, wrong = 0; // of the kernels of an ISA, and of the scalar path
    char excluded[4096] = "";
    check_run_install_handlers();
    for (size_t i = 0; i < check_variants_count; i++) {
        const struct check_variant *const variant = &check_variants[i];
        if (variant->required & ~cpu)
            continue;
        const bool scalar = variant->required == 0;
        const unsigned long long failed = failures(variant, options);
        ++*(scalar ? failed ? &wrong : &sound : failed ? &differ : &equal);
        if (failed && scalar) {
            printf("  %-39s WRONG: %llu of %llu cases; the scalar path itself\n", variant->name, failed, cases);
        } else if (failed) {
            const size_t used = strlen(excluded);
            quarantine[i] = FOVEA_DIFFERS;
            snprintf(excluded + used, sizeof excluded - used, "%s%s", used ? "," : "", variant->name);
            printf("  %-39s QUARANTINED by FOVEA_EXCLUDE=%s: %llu of %llu cases differ\n", variant->name, variant->name,
                   failed, cases);
        } else if (!quiet) {
            printf("  %-39s %s (%llu cases)\n", variant->name,
                   scalar ? "within its bound of float64" : "bit-equal to scalar", cases);
        }
    }
    printf("%zu kernels equal the scalar path, %zu of the scalar path hold their bounds", equal, sound);
    if (differ + wrong)
        printf("; %zu differ, %zu of the scalar path are wrong", differ, wrong);
    putchar('\n');
    if (wrong)
        printf("the scalar path itself is wrong on this machine: do not trust its results, nor this comparison\n");
    if (*excluded)
        printf("keep them out of use with FOVEA_EXCLUDE=%s\n", excluded);
    return differ + wrong ? CLI_FAILED : CLI_OK;
}

int cli_verify(int argc, char **argv)
{
    struct check_options check = {.seed = 1, .cases = 100, .has_cases = true};
    uint8_t quarantine[FOVEA_VARIANTS] = {0};
    const char *file = NULL;
    bool quiet = false, system = false, keep = false;
    const struct cli_option options[] = {
        {.name = "--cases", .whole = &check.cases, .low = 1, .high = 1e6},
        {.name = "--quiet", .flag = &quiet},
        {.name = "--quarantine", .flag = &keep, .text = &file},
        {.name = "--system", .flag = &system},
        {.name = NULL},
    };
    const int left = cli_only_options("verify", help, options, argc, argv);
    if (left <= 0)
        return left < 0 ? CLI_OK : CLI_USAGE;
    char path[4096] = "";
    if (file && system)
        return cli_error("verify: --system and --quarantine name two places");
    if (file && strcmp(file, "-") == 0)
        return cli_error("verify: --quarantine wants a file");
    if ((keep || system) && !find_profile(file, system, path))
        return CLI_USAGE;
    const int code = verify(&check, quiet, quarantine);
    const bool any = memchr(quarantine, FOVEA_DIFFERS, sizeof quarantine) != NULL;
    return any && *path && put_into_quarantine(path, !file, quarantine) ? CLI_USAGE : code;
}
