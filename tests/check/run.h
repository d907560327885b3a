// SPDX-License-Identifier: Apache-2.0
// tests/check/run.h - running cases: what `check`, `fovea verify` and the tuner ask of run.c.
#ifndef FOVEA_TESTS_CHECK_RUN_H
#define FOVEA_TESTS_CHECK_RUN_H

#include "tests/check/check.h"

struct check_options {
    const char *only, *isa; ///< globs on names with commas between them, ISA; NULL: all
    const char *skips;      ///< file of allowed skips
    uint64_t seed, cases, only_case;
    bool has_cases, has_only_case, list, bench, unguarded;
};

/// ISAs this CPU has by the compiler's own detection, which shares nothing with dispatch/.
uint32_t check_cpu(void);

/// One case, its signals caught; returns whether it passed.
bool check_run_case(const struct check_variant *v, const struct check_options *options, uint64_t index, bool quiet);
/// Once, before the first case.
void check_run_install_handlers(void);

#endif
