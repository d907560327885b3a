// SPDX-License-Identifier: Apache-2.0
// cli/bench_history.h - fovea bench --history: whatever suite runs, its report becomes a run of the history.
#ifndef FOVEA_CLI_BENCH_HISTORY_H
#define FOVEA_CLI_BENCH_HISTORY_H

#include "bench/bench.h"
#include "cli/cli.h"

enum { CLI_BENCH_REPETITIONS = 100 }; ///< at most

/// What is asked of a suite, and of its results; NULL and 0 where nothing was said.
struct cli_bench {
    const char *suite; ///< gemm, attention or layer
    struct bench_options options;
    const char *report;   ///< the file of a picture
    const char *way;      ///< in which instructions, and nothing else, are counted (--count)
    const char *history;  ///< the database that keeps the results
    uint64_t repetitions; ///< of the suite, for it
    const char *commit, *branch, *machine, *time;
};

/// Runs `suite`, which returns an exit code and prints to stdout, as it is; where a history is named with --json, as
/// often as asked, and keeps what it prints with its environment. Returns an exit code.
int cli_bench_history(const struct cli_bench *order, int (*suite)(const struct cli_bench *order));

#endif
