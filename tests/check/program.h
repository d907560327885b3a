// SPDX-License-Identifier: Apache-2.0
// tests/check/program.h - what main.c asks of matrix.c, bench.c and peak.c, the parts of `check` that no other has.
#ifndef FOVEA_TESTS_CHECK_PROGRAM_H
#define FOVEA_TESTS_CHECK_PROGRAM_H

#include "tests/check/run.h"

/// What became of a variant.
struct check_result {
    bool selected, skipped;
    uint64_t passed, failed;
};

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
