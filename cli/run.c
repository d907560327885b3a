// SPDX-License-Identifier: Apache-2.0
// cli/run.c - fovea run: finds the model by name.
#include "cli/cli.h"

#include <string.h>

static const char help[] = "usage: fovea run MODEL [ARGUMENTS]\n\n"
                           "  g2p      English words to phonemes: fovea run g2p hello transformer attention\n";

int cli_run(int argc, char **argv)
{
    if (argc < 2 || cli_wants_help(argv[1])) {
        fputs(help, argc < 2 ? stderr : stdout);
        return argc < 2 ? CLI_USAGE : CLI_OK;
    }
    if (strcmp(argv[1], "g2p") == 0)
        return cli_run_g2p(argc - 1, argv + 1);
    return cli_error("run: no model \"%s\"; fovea run --help lists them", argv[1]);
}
