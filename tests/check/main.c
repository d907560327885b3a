// SPDX-License-Identifier: Apache-2.0
// tests/check/main.c - check: every registered kernel this CPU can run, against the scalar one, bit by bit.
#include "dispatch/cpu.h"
#include "kernels/fault.h"
#include "tests/check/program.h"

#ifndef CHECK_UPPER
#define CHECK_UPPER 0 // scripts/faults.sh
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CHECK_SKIPS
#define CHECK_SKIPS "tests/skips.txt"
#endif

enum { failures_shown = 2 };

static const char help[] =
    "check - every registered kernel against the scalar one, bit by bit\n"
    "\n"
    "usage: check [options]\n"
    "  --list         names of the variants and whether this CPU can run them\n"
    "  --only=GLOBS   variants whose names match one of these, separated by commas\n"
    "  --isa=NAME     variants of one ISA: scalar, avx2, avx512, neon\n"
    "  --seed=N       another sequence of cases (default 1)\n"
    "  --cases=N      so many cases of each variant (default: by family, 800 to 1500)\n"
    "  --case=N       only this case\n"
    "  --unguarded    no guard pages: for emulators that load all of a masked vector (qemu-x86_64)\n"
    "  --skips=FILE   allowed skips (default " CHECK_SKIPS ")\n"
    "  --bench        time instead of test\n"
    "  --help         this text\n"
    "\n"
    "examples:\n"
    "  check                                       everything, about ten seconds\n"
    "  check --only='gemm_f32_*' --cases=10000     all GEMM tiles, longer\n"
    "  check --only=gemm_f32_6x64_avx512 --seed=123 --case=456     one case again, as a failure prints it\n"
    "  check --bench --isa=avx512\n"
    "\n"
    "exit status: 0 all passed, 1 a failure, 2 wrong usage. Skips not listed with a reason are failures.\n";

static bool number(const char *text, uint64_t *value)
{
    char *end;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

static bool parse(int argc, char **argv, struct check_options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *const equals = strchr(argv[i], '=');
        const char *const value = equals ? equals + 1 : "";
        const size_t length = equals ? (size_t)(value - argv[i]) : strlen(argv[i]);
        const struct {
            const char *name;
            const char **text;
            uint64_t *number;
            bool *flag;
        } options[] = {
            {"--only=", &o->only, NULL, NULL},          {"--isa=", &o->isa, NULL, NULL},
            {"--skips=", &o->skips, NULL, NULL},        {"--seed=", NULL, &o->seed, NULL},
            {"--list", NULL, NULL, &o->list},           {"--cases=", NULL, &o->cases, &o->has_cases},
            {"--bench", NULL, NULL, &o->bench},         {"--case=", NULL, &o->only_case, &o->has_only_case},
            {"--unguarded", NULL, NULL, &o->unguarded},
        };
        size_t at = 0;
        const size_t count = sizeof options / sizeof options[0];
        while (at < count && (strlen(options[at].name) != length || strncmp(options[at].name, argv[i], length) != 0))
            at++;
        if (at == count || (options[at].number && !number(value, options[at].number))) {
            fprintf(stderr, "check: what is %s? See check --help\n", argv[i]);
            return false;
        }
        if (options[at].text)
            *options[at].text = value;
        if (options[at].flag)
            *options[at].flag = true;
    }
    return true;
}

static void run_variant(const struct check_variant *v, const struct check_options *o, struct check_result *result)
{
    const uint64_t first = o->has_only_case ? o->only_case : 0;
    const uint64_t cases = o->has_cases ? o->cases : v->family->cases;
    const uint64_t end = o->has_only_case ? first + 1 : cases;
    for (uint64_t i = first; i < end; i++) {
        if (check_run_case(v, o, i, result->failed >= failures_shown))
            result->passed++;
        else
            result->failed++;
    }
    if (result->passed + result->failed == 0) {
        fprintf(stderr, "FAIL %s ran no case\n", v->name);
        result->failed++;
    } else if (result->failed > failures_shown) {
        fprintf(stderr, "     %s: %llu cases failed in all\n", v->name, (unsigned long long)result->failed);
    }
}

/// A variant this CPU lacks: counted, and a failure unless the list of skips gives a reason.
static void skip_variant(const struct check_variant *v, const struct check_options *o, uint32_t second_opinion,
                         struct check_result *result)
{
    char reason[256];
    result->skipped = true;
    if ((v->required & ~second_opinion) == 0) {
        fprintf(stderr, "FAIL %s skipped, but this CPU has %s: fovea_cpu_probe misses it\n", v->name, v->isa);
        result->failed++;
    } else if (!check_skip_listed(o->skips, v->name, reason, sizeof reason)) {
        fprintf(stderr, "FAIL %s skipped, and %s gives no reason\n", v->name, o->skips);
        result->failed++;
    } else {
        printf("skip %s: %s\n", v->name, reason);
    }
}

/// On a CPU with AVX-512, a run of everything in which no AVX-512 case ran has tested the wrong thing.
static uint64_t missing_avx512(const struct check_options *o, uint32_t second_opinion,
                               const struct check_result *results)
{
    uint64_t cases = 0;
    for (size_t i = 0; i < check_variants_count; i++) {
        if (strcmp(check_variants[i].isa, "avx512") == 0)
            cases += results[i].passed + results[i].failed;
    }
    if (o->only || o->isa || (second_opinion & FOVEA_CPU_AVX512) == 0 || cases != 0)
        return 0;
    fprintf(stderr, "FAIL this CPU has AVX-512 and no AVX-512 case ran\n");
    return 1;
}

static void list(const struct check_options *o, uint32_t cpu)
{
    for (size_t i = 0; i < check_variants_count; i++) {
        const struct check_variant *const v = &check_variants[i];
        if (check_selected(o, v))
            printf("%-39s %-21s %s\n", v->name, v->slot, (v->required & ~cpu) == 0 ? "runs here" : "skip");
    }
}

static int run(const struct check_options *o, uint32_t cpu)
{
    struct check_result *const results = calloc(check_variants_count, sizeof *results);
    const uint32_t second_opinion = check_cpu();
    size_t selected = 0;
    if (results == NULL)
        return 2;
    check_run_install_handlers();
    // gcc ends functions with vzeroupper from -O2 on, with -O1 only by -fexpensive-optimizations.
    check_upper_watch(CHECK_UPPER);
    printf("upper halves of vector registers after a kernel: %s\n", !CHECK_UPPER         ? "not looked at in this build"
                                                                    : check_upper_told() ? "unused, or it fails"
                                                                                         : "this CPU does not tell");
    for (size_t i = 0; i < check_variants_count; i++) {
        const struct check_variant *const v = &check_variants[i];
        results[i].selected = check_selected(o, v);
        selected += results[i].selected;
        if (results[i].selected && (v->required & ~cpu) == 0)
            run_variant(v, o, &results[i]);
        else if (results[i].selected)
            skip_variant(v, o, second_opinion, &results[i]);
    }
    int status = 2;
    if (selected == 0)
        fprintf(stderr, "check: no variant is called that; see check --list\n");
    else
        status = check_print_matrix(results, missing_avx512(o, second_opinion, results));
    free(results);
    return status;
}

#ifdef FOVEA_FAULTS_AT_RUN
#define DEFINE_FAULT(number, name, what) _Bool fovea_fault_##name;
FOVEA_FAULTS(DEFINE_FAULT)
#endif

int main(int argc, char **argv)
{
    struct check_options options = {.seed = 1, .skips = CHECK_SKIPS};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return 0;
        }
    }
    if (!parse(argc, argv, &options))
        return 2;
    if (options.unguarded)
        check_buffers_unguarded();
    const uint32_t cpu = fovea_cpu_probe();
#ifdef FOVEA_FAULTS_AT_RUN
    const char *const fault = getenv("FOVEA_FAULT");
#define SET_FAULT(number, name, what) fovea_fault_##name = fault != NULL && strcmp(fault, #name) == 0;
    FOVEA_FAULTS(SET_FAULT)
#endif
#define SAY_FAULT(number, name, what)                                                                                  \
    if (FOVEA_FAULT_IS(name))                                                                                          \
        printf("with fault %d, %s: %s\n", number, #name, what);
    FOVEA_FAULTS(SAY_FAULT)
    if (options.list)
        list(&options, cpu);
    else if (options.bench)
        check_bench(&options, cpu);
    else
        return run(&options, cpu);
    return 0;
}
