// SPDX-License-Identifier: Apache-2.0
// cli/main.c - the fovea program: finds the command.
#include "cli/cli.h"

#include <signal.h>
#include <string.h>

static const struct {
    const char *name, *purpose;
    cli_command *run;
} commands[] = {
    {"info", "what this machine has, which kernels were chosen, and why", cli_info},
    {"verify", "compare every kernel of this CPU with the scalar path, bit for bit", cli_verify},
    {"tune", "choose kernels, tiles and crossovers for this machine, once", cli_tune},
    {"bench", "how near kernels come to the machine's limit, and to other libraries", cli_bench},
    {"history", "keep benchmark runs, find regressions, compare builds", cli_history},
    {"run", "run a model: fovea run g2p hello transformer attention", cli_run},
};

static void usage(FILE *to)
{
    fprintf(to, "usage: fovea COMMAND [ARGUMENTS]\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].purpose);
    fprintf(to, "\n  fovea help COMMAND tells more, as fovea COMMAND --help does; fovea version\n"
                "  prints the version. An option's value is the next argument or stands behind an\n"
                "  equals sign: --db FILE, --db=FILE; one that may be missing, as in\n"
                "  --quarantine[=FILE], only behind an equals sign.\n\n"
                "environment:\n"
                "  FOVEA_ISA=scalar|avx2|avx512|neon  caps the instruction set\n"
                "  FOVEA_PIN=NAME,...          chooses kernels by name\n"
                "  FOVEA_EXCLUDE=NAME,...      keeps some out of use\n"
                "  FOVEA_PROFILE=FILE|none     the tuning profile\n"
                "  FOVEA_CACHES=32K,1M,32M     the caches, where the machine reports wrong ones\n"
                "  FOVEA_VERBOSE=1             prints what was chosen, or why there is no\n"
                "                              engine; 2: the BLAS front prints its products, too\n"
                "  FOVEA_NUM_THREADS=N         threads of the BLAS front (default 1)\n"
                "  FOVEA_DATA=FOLDER           has the weights, in place of those installed with\n"
                "                              this program\n"
                "  FOVEA_HISTORY=FILE          the database of fovea history\n"
                "  FOVEA_PEERS_DIR=FOLDER      has libraries to race against that are no packages\n");
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "help") == 0) { // fovea help tune is fovea tune --help
        static char help[] = "--help";
        memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
        argv[argc - 1] = help;
    }
    if (cli_wants_help(argv[1]) || strcmp(argv[1], "help") == 0) { // help help
        usage(stdout);
        return CLI_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        if (argc > 2 && !cli_wants_help(argv[2]))
            return cli_error("version: unexpected argument \"%s\"", argv[2]);
        printf("fovea %s\n", fovea_version());
        return CLI_OK;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return cli_error("no command \"%s\"; fovea --help lists them", argv[1]);
}

int main(int argc, char **argv)
{
    signal(SIGCHLD, SIG_DFL); // who starts this program may ignore it, and then nobody learns how a child ended
    const int code = run(argc, argv);
    return fflush(stdout) != 0 || ferror(stdout) ? cli_error("cannot write to standard output") : code;
}
