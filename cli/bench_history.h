// SPDX-License-Identifier: Apache-2.0
// cli/bench_history.h - fovea bench --history: whatever suite runs, its report becomes a run of the history.
#ifndef FOVEA_CLI_BENCH_HISTORY_H
#define FOVEA_CLI_BENCH_HISTORY_H

#include "cli/cli.h"

/// Where --history stands among the arguments of fovea bench, and the options of its own are taken out of them: runs
/// `suite` with --json, --repetitions times, and keeps the result with its environment. Otherwise runs `suite` as it
/// is. Returns an exit code.
int cli_bench_history(int argc, char **argv, cli_command *suite);

#endif
