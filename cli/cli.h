// SPDX-License-Identifier: Apache-2.0
// cli/cli.h - what the commands of the fovea program share.
#ifndef FOVEA_CLI_CLI_H
#define FOVEA_CLI_CLI_H

#include "fovea/fovea.h"

#include <stdio.h>

/// Exit codes: 0 done, 1 it did not hold (a kernel differs, ...), 2 wrong usage or input.
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/// A command gets the arguments behind its name, argv[0] being the name.
typedef int cli_command(int argc, char **argv);
cli_command cli_info, cli_verify, cli_tune, cli_bench, cli_history, cli_run, cli_run_g2p;

/// Says "fovea: ..." on stderr and returns CLI_USAGE.
__attribute__((format(printf, 1, 2))) int cli_error(const char *format, ...);

/// Makes an engine from the environment for so many workers (0: the processors), or says why not and returns NULL.
struct fovea_engine *cli_engine(uint32_t workers);

/// Writes text as a JSON string.
void cli_json_string(FILE *file, const char *text);

/// A progress bar on stderr while it is a terminal; nothing elsewhere. Ends its line when done == total.
void cli_progress(const char *what, size_t done, size_t total);

#endif
