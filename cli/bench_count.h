// SPDX-License-Identifier: Apache-2.0
// cli/bench_count.h - fovea bench --count: instructions alone, counted by a tool around the program.
#ifndef FOVEA_CLI_BENCH_COUNT_H
#define FOVEA_CLI_BENCH_COUNT_H

#include "cli/cli.h"

#include <stdbool.h>

/// Whether instructions can be counted this way in this process; false having said what is wrong.
bool cli_bench_way_here(const char *way);
/// Whether this process has to be started again, by cli_bench_callgrind, for that.
bool cli_bench_wants_callgrind(const char *way);
/// Runs `fovea ARGV...` in callgrind, and returns its exit code.
int cli_bench_callgrind(int argc, char **argv);

#endif
