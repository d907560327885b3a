// SPDX-License-Identifier: Apache-2.0
// cli/bench.c - fovea bench: how near the kernels come to what the machine can do, and to other libraries.
#include "bench/bench.h"
#include "cli/bench_count.h"
#include "cli/bench_history.h"
#include "cli/tune.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: fovea bench gemm [OPTIONS]\n"
    "       fovea bench attention [OPTIONS] the same options\n"
    "       fovea bench tune [OPTIONS]      the tuning profile against the defaults; --help tells more\n\n"
    "Times matrix products, or attention. Every line has its denominator measured beside it: the FMA peak of the "
    "instruction set in\n"
    "use, and where weights (M <= 16) or keys (decode) come from memory also the rate at which this machine reads "
    "them.\n\n"
    "  --filter REGEX    lines whose name matches, gemm/f32/{plain,packed}/{nn,nt,tn,tt}/MxNxK or\n"
    "                    attention/f32/{full,causal,decode,decode-l2,...}/B,H,Hkv,Sq,Skv,D; a REGEX with - in front:\n"
    "                    those that do not\n"
    "  --shapes SET      smoke, standard (default; all with --filter), or all\n"
    "  --min-time S      seconds of timed samples for each line (default 0.2)\n"
    "  --threads N       workers, 1 to 64 (default 1)\n"
    "  --peers           race against OpenBLAS, BLIS, oneDNN, libxsmm and ONNX Runtime, as far as they are installed\n"
    "                    (scripts/peers.sh installs them); attention is composed where a library has none\n"
    "  --instructions    count the instructions of a call too, by single steps: one thread, lines of up to 5 s of it\n"
    "  --count WAY       nothing but instructions, and no times: callgrind (runs the program in valgrind, which has "
    "AVX2),\n"
    "                    qemu (in qemu-user with -plugin libfovea_count.so), or steps\n"
    "  --json            Google Benchmark's JSON, with counters of_peak, of_stream, of_bound, work_bytes,\n"
    "                    vs_best_peer, peer, peer_work_bytes\n"
    "  --history FILE    keep the result with its environment in this database (fovea history); with --commit NAME,\n"
    "                    --repetitions N (default 5), --branch, --machine, --time as fovea history import has them\n\n"
    "examples:\n"
    "  fovea bench gemm --filter 'packed/.*/128x'     products of 128 rows with packed weights\n"
    "  fovea bench attention --filter causal          causal attention, of its useful work\n"
    "  fovea bench gemm --peers --filter 512x512x512  against other libraries\n"
    "  fovea bench attention --peers --filter decode\n"
    "  fovea bench gemm --shapes smoke --instructions --history perf.db --commit $(git rev-parse HEAD)\n"
    "  fovea bench gemm --shapes smoke --count callgrind --history perf.db --commit $(git rev-parse HEAD)\n"
    "  qemu-aarch64 -plugin libfovea_count.so fovea bench attention --shapes smoke --count qemu\n"
    "  FOVEA_ISA=avx2 fovea bench gemm                what a machine without AVX-512 does, of its own peak\n";

#if FOVEA_HAVE_BENCH

static int parse_suite(const char *text, struct bench_options *options)
{
    static const char *const names[] = {"smoke", "standard", "all"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            options->suite = (enum bench_suite)i;
            return 1;
        }
    return 0;
}

static int parse_number(const char *text, double low, double high, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= low && *value <= high;
}

// Takes the option at argv[i] and returns how many arguments it took, or 0 having said what is wrong.
static int take_option(int left, char **argv, struct bench_options *options, int *shapes)
{
    enum { THREADS_MAX = 64 };
    double number;
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--json", &options->json}, {"--peers", &options->peers}, {"--instructions", &options->instructions}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(argv[0], flags[i].name) == 0)
            return *flags[i].flag = true;
    const char *const value = left > 1 ? argv[1] : "";
    if (strcmp(argv[0], "--filter") == 0 && left > 1) {
        options->filter = value;
    } else if (strcmp(argv[0], "--shapes") == 0) {
        if (!parse_suite(value, options))
            return cli_error("bench: --shapes takes smoke, standard or all"), 0;
        *shapes = 1;
    } else if (strcmp(argv[0], "--min-time") == 0) {
        if (!parse_number(value, 0, 3600, &options->min_time))
            return cli_error("bench: --min-time takes seconds, 0 to 3600"), 0;
    } else if (strcmp(argv[0], "--threads") == 0) {
        if (!parse_number(value, 1, THREADS_MAX, &number) || number != (double)(uint32_t)number)
            return cli_error("bench: --threads takes a number from 1 to %d", THREADS_MAX), 0;
        options->threads = (uint32_t)number;
    } else if (strcmp(argv[0], "--count") == 0) {
        if (!cli_bench_way_here(value))
            return 0;
        options->instructions = options->untimed = true;
    } else {
        return cli_error("bench: unknown option \"%s\"; --help lists them", argv[0]), 0;
    }
    return 2;
}

static int bench(int argc, char **argv)
{
    struct bench_options options = {.suite = BENCH_STANDARD, .min_time = 0.2, .threads = 1};
    int shapes = 0;
    for (int i = 2, taken; i < argc; i += taken) {
        taken = take_option(argc - i, argv + i, &options, &shapes);
        if (!taken)
            return CLI_USAGE;
    }
    if (options.untimed && options.peers)
        return cli_error("bench: --peers races against time, and --count takes none");
    if (options.filter && !shapes)
        options.suite = BENCH_ALL;
    struct fovea_engine *const engine = cli_engine(options.threads);
    if (!engine)
        return CLI_USAGE;
    const int failed = (strcmp(argv[1], "gemm") == 0 ? bench_gemm : bench_attention)(engine, &options);
    fovea_engine_destroy(engine);
    return failed < 0 ? CLI_USAGE : failed ? CLI_FAILED : CLI_OK;
}

static int counted(int argc, char **argv)
{
    return cli_bench_wants_callgrind(cli_bench_way(argc, argv)) ? cli_bench_callgrind(argc, argv)
                                                                : cli_bench_history(argc, argv, bench);
}

#else

static int counted(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_error("bench: not built in; build with libbenchmark-dev installed (CMake option FOVEA_BUILD_BENCH)");
}

#endif

int cli_bench(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "tune") == 0)
        return cli_bench_tune(argc - 1, argv + 1);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            fputs(help, stdout);
            return CLI_OK;
        }
    if (argc < 2) {
        fputs(help, stderr);
        return CLI_USAGE;
    }
    const bool known = strcmp(argv[1], "gemm") == 0 || strcmp(argv[1], "attention") == 0;
    return known ? counted(argc, argv) : cli_error("bench: no suite \"%s\"; fovea bench --help lists them", argv[1]);
}
