// SPDX-License-Identifier: Apache-2.0
// tests/check/run.h - what main.c asks of run.c, matrix.c and bench.c.
#ifndef FOVEA_TESTS_CHECK_RUN_H
#define FOVEA_TESTS_CHECK_RUN_H

#include "tests/check/check.h"

struct check_options {
    const char *only, *isa; ///< globs on names with commas between them, ISA; NULL: all
    const char *skips;      ///< file of allowed skips
    uint64_t seed, cases, only_case;
    bool has_cases, has_only_case, list, bench, unguarded;
};

/// What became of a variant.
struct check_result {
    bool selected, skipped;
    uint64_t passed, failed;
};

/// ISAs this CPU has by the compiler's own detection, which shares nothing with dispatch/.
uint32_t check_cpu(void);

/// One case, its signals caught; returns whether it passed.
bool check_run_case(const struct check_variant *v, const struct check_options *options, uint64_t index, bool quiet);
/// Once, before the first case.
void check_run_install_handlers(void);

/// Whether the options' globs and ISA take in this variant.
bool check_selected(const struct check_options *options, const struct check_variant *v);
/// Whether the file of skips gives a reason for skipping this variant; reason receives it.
bool check_skip_listed(const char *path, const char *name, char *reason, size_t size);

/// Prints the matrix and the last line; returns the exit status.
int check_print_matrix(const struct check_result *results, uint64_t extra_failures);

/// Prints the speed of the selected variants that this CPU can run.
void check_bench(const struct check_options *options, uint32_t cpu);
/// Flops per second of fused multiply-adds on one ISA's registers alone; 0 where it cannot be measured.
double check_fma_peak(const char *isa);

#endif
