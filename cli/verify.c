// SPDX-License-Identifier: Apache-2.0
// cli/verify.c - fovea verify: every kernel of this CPU against the scalar path, bit for bit.
//
// The cases are those of the project's own kernel tests (tests/check), fewer of them: guard pages around every buffer,
// tails, strides, NaN, infinities, denormals. They run in a child process, so that one that crashes or hangs is found,
// too. A kernel that fails is named for FOVEA_EXCLUDE, and put into quarantine where that is asked. The scalar path,
// which nothing replaces, is held against the float64 oracle.
#include "cli/tune.h"
#include "dispatch/cpu.h"
#include "tests/check/run.h"
#include "tune/child.h"

#include <math.h>
#include <string.h>

static const char help[] = "usage: fovea verify [--cases N] [--quiet] [--quarantine[=FILE] | --system]\n\n"
                           "Compares every kernel variant this CPU can run with the scalar path, bit for\n"
                           "bit, and the scalar path with float64, within the bounds of docs/numerics.md.\n"
                           "A kernel that crashes or hangs fails, too. Exit status 0: all hold. 1: some fail\n"
                           "or were not verified; they are named, with the setting that keeps them out of\n"
                           "use.\n\n"
                           "  --cases N   cases of each variant, 1 to 1000000 (default 100)\n"
                           "  --quiet     print only what fails, and how many hold\n"
                           "  --quarantine[=FILE]  write those that fail into the tuning profile, which\n"
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

// What child processes are asked: the variants of this CPU, one by one.
struct verification {
    const struct check_options *options;
    bool quiet;
    uint32_t count, variant[FOVEA_VARIANTS];
};

// Runs in a child, which says what it found.
static bool holds(void *arg, uint32_t i)
{
    const struct verification *const v = arg;
    const struct check_variant *const variant = &check_variants[v->variant[i]];
    const unsigned long long cases = v->options->cases;
    check_run_install_handlers(); // of a case; what they cannot catch ends the child
    const unsigned long long failed = failures(variant, v->options);
    if (failed && variant->required == 0)
        printf("  %-39s WRONG: %llu of %llu cases; the scalar path itself\n", variant->name, failed, cases);
    else if (failed)
        printf("  %-39s QUARANTINED by FOVEA_EXCLUDE=%s: %llu of %llu cases differ\n", variant->name, variant->name,
               failed, cases);
    else if (!v->quiet)
        printf("  %-39s %s (%llu cases)\n", variant->name,
               variant->required == 0 ? "within its bound of float64" : "bit-equal to scalar", cases);
    fflush(stdout);
    return failed == 0;
}

// Asks about all variants of this CPU.
static void ask(struct verification *v, enum tune_verdict *verdicts)
{
    // A variant takes some ms for 100 cases; an emulator, or a sanitizer, some hundred times as long.
    struct tune_patience patience = {.silence = 60, .work = 10 + 0.02 * (double)v->options->cases, .until = INFINITY};
    const uint32_t cpu = fovea_cpu_probe();
    for (uint32_t i = 0; i < check_variants_count; i++)
        if (!(check_variants[i].required & ~cpu))
            v->variant[v->count++] = i;
    tune_ask(v->count, holds, v, &patience, NULL, verdicts);
}

static int verify(const struct check_options *options, bool quiet, uint8_t *quarantine)
{
    static const struct {
        uint8_t why;
        const char *what;
    } ends[] = {
        [TUNE_UNKNOWN] = {FOVEA_QUARANTINE_NONE, "not verified: its process was ended, or could not be started"},
        [TUNE_SAME] = {FOVEA_QUARANTINE_NONE, NULL},
        [TUNE_DIFFERS] = {FOVEA_DIFFERS, NULL},
        [TUNE_CRASHES] = {FOVEA_CRASHES, "the process that ran it crashed"},
        [TUNE_HANGS] = {FOVEA_HANGS, "does not come to an end"}};
    enum tune_verdict verdicts[FOVEA_VARIANTS];
    struct verification v = {.options = options, .quiet = quiet};
    size_t equal = 0, differ = 0, sound = 0, wrong = 0, unknown = 0; // of the kernels of an ISA, and of the scalar path
    char excluded[4096] = "";
    ask(&v, verdicts);
    for (uint32_t i = 0; i < v.count; i++) {
        const struct check_variant *const variant = &check_variants[v.variant[i]];
        const enum tune_verdict verdict = verdicts[i];
        const bool scalar = variant->required == 0, failed = verdict >= TUNE_DIFFERS;
        ++*(verdict == TUNE_UNKNOWN ? &unknown : scalar ? failed ? &wrong : &sound : failed ? &differ : &equal);
        if (ends[verdict].what)
            printf("  %-39s %s\n", variant->name, ends[verdict].what);
        if (failed && !scalar) {
            const size_t used = strlen(excluded);
            quarantine[v.variant[i]] = ends[verdict].why;
            snprintf(excluded + used, sizeof excluded - used, "%s%s", used ? "," : "", variant->name);
        }
    }
    printf("%zu kernels equal the scalar path, %zu of the scalar path hold their bounds", equal, sound);
    if (differ + wrong)
        printf("; %zu fail, %zu of the scalar path are wrong", differ, wrong);
    if (unknown)
        printf("; %zu were not verified", unknown);
    putchar('\n');
    if (wrong)
        printf("the scalar path itself is wrong on this machine: do not trust its results, nor this comparison\n");
    if (*excluded)
        printf("keep them out of use with FOVEA_EXCLUDE=%s\n", excluded);
    return differ + wrong + unknown ? CLI_FAILED : CLI_OK;
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
    static const uint8_t none[FOVEA_VARIANTS];
    const bool any = memcmp(quarantine, none, sizeof none) != 0;
    return any && *path && put_into_quarantine(path, !file, quarantine) ? CLI_USAGE : code;
}
