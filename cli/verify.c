// SPDX-License-Identifier: Apache-2.0
// cli/verify.c - fovea verify: every kernel of this CPU against the scalar path, bit for bit.
//
// The cases are those of the project's own kernel tests (tests/check), fewer of them: guard pages around every buffer,
// tails, strides, NaN, infinities, denormals. A kernel that differs or crashes is named for FOVEA_EXCLUDE.
#include "cli/cli.h"
#include "dispatch/cpu.h"
#include "tests/check/run.h"

#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: fovea verify [--cases=N] [--quiet]\n\n"
                           "Compares every kernel variant this CPU can run with the scalar path, bit for bit.\n"
                           "Exit status 0: all equal. 1: some differ; they are named, with the setting that keeps them\n"
                           "out of use.\n\n"
                           "  --cases=N   cases of each variant (default 100)\n"
                           "  --quiet     print only what differs\n";

static uint64_t failures(const struct check_variant *variant, const struct check_options *options)
{
    uint64_t failed = 0;
    for (uint64_t i = 0; i < options->cases; i++)
        failed += !check_run_case(variant, options, i, failed > 0);
    return failed;
}

static int verify(const struct check_options *options, int quiet)
{
    const uint32_t cpu = fovea_cpu_probe();
    size_t tested = 0, differ = 0;
    char excluded[4096] = "";
    check_run_install_handlers();
    for (size_t i = 0; i < check_variants_count; i++) {
        const struct check_variant *const variant = &check_variants[i];
        if (variant->required & ~cpu)
            continue;
        const uint64_t failed = failures(variant, options);
        tested++;
        if (failed) {
            differ++;
            const size_t used = strlen(excluded);
            snprintf(excluded + used, sizeof excluded - used, "%s%s", used ? "," : "", variant->name);
            printf("  %-32s QUARANTINED: %llu of %llu cases differ\n", variant->name, (unsigned long long)failed,
                   (unsigned long long)options->cases);
        } else if (!quiet) {
            printf("  %-32s bit-equal to scalar (%llu cases)\n", variant->name, (unsigned long long)options->cases);
        }
    }
    printf("%zu kernels verified on this CPU, %zu differ\n", tested, differ);
    if (differ)
        printf("keep them out of use with FOVEA_EXCLUDE=%s\n", excluded);
    return differ ? CLI_FAILED : CLI_OK;
}

int cli_verify(int argc, char **argv)
{
    struct check_options options = {.seed = 1, .cases = 100, .has_cases = true};
    int quiet = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return CLI_OK;
        }
        if (strcmp(argv[i], "--quiet") == 0) {
            quiet = 1;
        } else if (strncmp(argv[i], "--cases=", 8) == 0 && atoi(argv[i] + 8) > 0) {
            options.cases = (uint64_t)atoi(argv[i] + 8);
        } else {
            return cli_error("verify: unknown option \"%s\"", argv[i]);
        }
    }
    return verify(&options, quiet);
}
