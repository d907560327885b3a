// SPDX-License-Identifier: Apache-2.0
// cli/bench.c - fovea bench: how near the kernels come to what the machine can do, and to other libraries.
#include "cli/bench_count.h"
#include "cli/bench_history.h"
#include "cli/tune.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char help[] = "usage: fovea bench gemm [OPTIONS] [LINE...]\n"
                           "       fovea bench attention [OPTIONS] [LINE...]\n"
                           "       fovea bench layer [OPTIONS] [LINE...]\n"
                           "       fovea bench tune [OPTIONS]   the profile against the defaults (--help)\n\n"
                           "Times matrix products, attention, or whole Transformer layers. Every line has\n"
                           "its denominator measured beside it: the FMA peak of the instruction set in use,\n"
                           "and where weights (up to 16 rows) or keys (decode) come from memory also the\n"
                           "rate at which this machine reads them.\n\n"
                           "  LINE              one of any shape, in place of a set. Products (t: stored\n"
                           "                    transposed, B: a batch): plain/{nn,nt,tn,tt}/[Bx]MxNxK,\n"
                           "                    packed/{nn,nt}/MxNxK, packed-{gelu,bf16,f16,s8}/nt/MxNxK.\n"
                           "                    Attention: KIND/B,H,Hkv,Sq,Skv,D, of the kinds full,\n"
                           "                    causal, padded, window, mask, softcap, alibi, dropout,\n"
                           "                    statistics, and with a cache decode{,-rows,-mask,-bf16,-f16}\n"
                           "                    from memory, decode{,-rows}-l2 from L2. Layers:\n"
                           "                    {encoder,encoder-pre}/B,S,WIDTH,H,FFN or, with a cache,\n"
                           "                    {decode,decode-gated}[-{bf16,s8}]/B,S,KEYS,WIDTH,H,Hkv,FFN\n"
                           "  --list            print the names of the lines, and run none\n"
                           "  --filter REGEX    lines whose name, gemm/f32/LINE, attention/f32/LINE or\n"
                           "                    layer/f32/LINE, matches; a REGEX with - in front: those that\n"
                           "                    do not\n"
                           "  --shapes SET      smoke, standard (default; all with --filter), or all\n"
                           "  --min-time S      seconds of timed samples for each line (default 0.2)\n"
                           "  --threads N       workers, 1 to 64 (default 1)\n"
                           "  --offset BYTES    operands begin so many bytes behind a cache line, a multiple\n"
                           "                    of 4, up to 4092; 16 as malloc's (default 0; not of layers)\n"
                           "  --peers           race against OpenBLAS, BLIS, oneDNN, libxsmm, ggml and ONNX\n"
                           "                    Runtime, as far as they are installed (scripts/peers.sh of\n"
                           "                    the source tree installs them); attention is composed where\n"
                           "                    a library has none, and only ONNX Runtime has layers\n"
                           "  --instructions    count the instructions of a call too, by single steps: one\n"
                           "                    thread, lines of up to 5 s of it\n"
                           "  --count WAY       nothing but instructions, and no times: callgrind (runs the\n"
                           "                    program in valgrind, which has AVX2), qemu (in qemu-user\n"
                           "                    with -plugin libfovea_count.so), or steps\n"
                           "  --json            Google Benchmark's JSON, with counters of_peak, of_stream,\n"
                           "                    of_bound, work_bytes, vs_best_peer, peer, peer_work_bytes\n"
                           "  --report FILE     a picture of the run: percentages of all lines, and with\n"
                           "                    --peers their ratios; FILE ends in .svg, or in .html for a\n"
                           "                    page. Ctrl-C: of the lines until then\n"
                           "  --history FILE    keep the result with its environment in this database (fovea\n"
                           "                    history); with --commit NAME, --repetitions N (default 5, of\n"
                           "                    --count 1), --branch, --machine, --time as fovea history\n"
                           "                    import has them\n\n"
                           "columns: %peak of the FMA peak, %stream of the read bandwidth, %bound of the\n"
                           "smaller limit (medians; quartiles in brackets); work: memory beside operands;\n"
                           "[interrupted]: by timer ticks; [disturbed]: by another program on the core\n\n"
                           "examples:\n"
                           "  fovea bench gemm plain/nt/37x4096x4096 packed/nt/37x4096x4096\n"
                           "  fovea bench gemm --filter 'packed/.*/128x'     128 rows, packed weights\n"
                           "  fovea bench gemm --peers --report gemm.svg     with a picture\n"
                           "  FOVEA_ISA=avx2 fovea bench gemm                without AVX-512\n"
                           "  fovea bench attention --filter causal\n"
                           "  fovea bench attention --peers --filter decode\n"
                           "  fovea bench layer --peers encoder/1,128,768,12,3072  a layer of BERT-base\n\n"
                           "  fovea bench gemm --shapes smoke --instructions --history perf.db \\\n"
                           "      --commit $(git rev-parse HEAD)\n"
                           "  fovea bench gemm --shapes smoke --count callgrind --history perf.db \\\n"
                           "      --commit $(git rev-parse HEAD)\n"
                           "  qemu-aarch64 -plugin libfovea_count.so \\\n"
                           "      fovea bench attention --shapes smoke --count qemu\n";

#if FOVEA_HAVE_BENCH

static int (*suite_named(const char *name))(const struct fovea_engine *engine, const struct bench_options *options)
{
    return strcmp(name, "gemm") == 0 ? bench_gemm : strcmp(name, "layer") == 0 ? bench_layer : bench_attention;
}

static int run_on(const struct fovea_engine *engine, const struct cli_bench *order, const struct bench_options *options)
{
    const int failed = suite_named(order->suite)(engine, options);
    return failed < 0 ? CLI_USAGE : failed || cli_stop ? CLI_FAILED : CLI_OK;
}

struct text {
    char *begin;
    size_t size;
};

static bool write_text(FILE *file, const void *arg)
{
    const struct text *const text = arg;
    fwrite(text->begin, 1, text->size, file); // the stream remembers what went wrong
    return true;
}

static bool has_ending(const char *file, const char *ending)
{
    const size_t length = strlen(file), of_ending = strlen(ending);
    return length > of_ending && strcasecmp(file + length - of_ending, ending) == 0;
}

static bool draws_svg(const char *file)
{
    return has_ending(file, ".svg");
}

// The picture is drawn in memory, so that the file is the old one until the new one is whole.
static int run_drawn(const struct fovea_engine *engine, const struct cli_bench *order)
{
    struct bench_options options = order->options;
    struct text text = {NULL, 0};
    if (!cli_can_replace("bench", order->report)) // after twenty minutes it would be late to say so
        return CLI_USAGE;
    options.report = open_memstream(&text.begin, &text.size);
    options.report_page = !draws_svg(order->report);
    if (!options.report)
        return cli_error("bench: no memory");
    int code = run_on(engine, order, &options);
    const bool whole = fclose(options.report) == 0;
    if (!whole)
        code = cli_error("bench: %s: no memory", order->report);
    else if (text.size > 0 && cli_replace("bench", order->report, write_text, &text) != CLI_OK)
        code = CLI_USAGE;
    free(text.begin);
    return code;
}

static int run_suite(const struct cli_bench *order)
{
    struct fovea_engine *const engine = cli_engine(order->options.threads);
    if (!engine)
        return CLI_USAGE;
    const uint32_t processors = fovea_engine_machine(engine)->processors;
    if (order->options.threads > processors)
        fprintf(stderr, "fovea: bench: %u threads on %u processor%s: peaks and times mean little\n",
                (unsigned)order->options.threads, (unsigned)processors, processors == 1 ? "" : "s");
    const int code = order->report ? run_drawn(engine, order) : run_on(engine, order, &order->options);
    fovea_engine_destroy(engine);
    return code;
}

// What is asked of results, where --list has none; NULL: nothing.
static const char *wants_results(const struct cli_bench *order)
{
    return order->report         ? "--report"
           : order->way          ? "--count"
           : order->options.json ? "--json"
           : order->history      ? "--history"
                                 : NULL;
}

// argv: what this process was started with.
static int bench(struct cli_bench *order, int argc, char **argv)
{
    if (order->options.list && wants_results(order))
        return cli_error("bench: --list runs no line, and %s wants results", wants_results(order));
    if (order->history && order->options.json)
        return cli_error("bench: --history keeps the JSON, which --json prints: give one of them");
    if (order->way && order->options.peers)
        return cli_error("bench: --peers races against time, and --count takes none");
    if ((order->way || order->options.instructions) && order->options.threads > 1)
        return cli_error("bench: %s counts one thread", order->way ? "--count" : "--instructions");
    if (order->options.offset % sizeof(float) != 0)
        return cli_error("bench: --offset %zu is no multiple of 4", order->options.offset);
    if (order->options.offset != 0 && strcmp(order->suite, "layer") == 0)
        return cli_error("bench: layers have no --offset");
    if (order->options.offset != 0 && order->history)
        return cli_error("bench: --history keeps lines by name, which --offset is no part of");
    if (order->way && order->report)
        return cli_error("bench: --report draws times, and --count takes none");
    if (order->report && strcmp(order->report, "-") == 0)
        return cli_error("bench: --report wants a file: standard output has the lines");
    if (!cli_are_apart("bench", "--report", order->report, order->history, "it is the database"))
        return CLI_USAGE;
    if (order->report && !draws_svg(order->report) && !has_ending(order->report, ".html"))
        return cli_error("bench: --report %s: a file whose name ends in .svg or in .html, by which it is drawn",
                         order->report);
    if (cli_bench_wants_callgrind(order->way))
        return cli_bench_callgrind(argc, argv);
    if (order->way && !cli_bench_way_here(order->way))
        return CLI_USAGE;
    if (order->way)
        order->options.instructions = order->options.untimed = true;
    if (order->report || order->options.json) { // else the lines are out as soon as they are known
        cli_catch_stops("\nfovea: bench: ends after this line, and keeps what is measured; once more: at once\n");
        order->options.stop = &cli_stop;
    }
    const int code = cli_bench_history(order, run_suite);
    cli_end_as_asked();
    return code;
}

#else

static int bench(struct cli_bench *order, int argc, char **argv)
{
    (void)order;
    (void)argc;
    (void)argv;
    return cli_error("bench: not built in; build with libbenchmark-dev installed (CMake option FOVEA_BUILD_BENCH)");
}

#endif

// `fovea bench gemm`, `attention` or `layer`: argv[1] is the suite, its options behind it.
static int bench_suite(int argc, char **argv)
{
    enum { THREADS_MAX = 64 };
    static const char *const shapes[] = {"smoke", "standard", "all", NULL};
    enum { UNSAID = BENCH_ALL + 1 };
    unsigned suite = UNSAID;
    uint64_t threads = 1, offset = 0;
    struct cli_bench order = {.suite = argv[1], .options.min_time = 0.2};
    const struct cli_option options[] = {
        {.name = "--filter", .text = &order.options.filter},
        {.name = "--list", .flag = &order.options.list},
        {.name = "--shapes", .choice = &suite, .choices = shapes},
        {.name = "--min-time", .number = &order.options.min_time, .low = 0, .high = 3600},
        {.name = "--threads", .whole = &threads, .low = 1, .high = THREADS_MAX},
        {.name = "--offset", .whole = &offset, .low = 0, .high = 4092},
        {.name = "--peers", .flag = &order.options.peers},
        {.name = "--instructions", .flag = &order.options.instructions},
        {.name = "--count", .text = &order.way},
        {.name = "--json", .flag = &order.options.json},
        {.name = "--report", .text = &order.report},
        {.name = "--history", .text = &order.history},
        {.name = "--repetitions", .whole = &order.repetitions, .low = 1, .high = CLI_BENCH_REPETITIONS},
        {.name = "--commit", .text = &order.commit},
        {.name = "--branch", .text = &order.branch},
        {.name = "--machine", .text = &order.machine},
        {.name = "--time", .text = &order.time},
        {.name = NULL},
    };
    char **const own = malloc((size_t)argc * sizeof *own); // callgrind starts the program with argv as it is
    if (!own)
        return cli_error("bench: no memory");
    memcpy(own, argv, (size_t)argc * sizeof *own);
    const int left = cli_options("bench", help, options, argc - 1, own + 1); // the lines' names first
    int status = left < 0 ? CLI_OK : CLI_USAGE;
    if (left > 1 && suite != UNSAID) {
        cli_error("bench: --shapes names a set, \"%s\" a line: give one of them", own[2]);
    } else if (left > 0) {
        const enum bench_suite unsaid = order.options.filter ? BENCH_ALL : BENCH_STANDARD;
        order.options.suite = suite == UNSAID ? unsaid : (enum bench_suite)suite;
        order.options.threads = (uint32_t)threads;
        order.options.offset = offset;
        order.options.names = left > 1 ? own + 2 : NULL;
        order.options.name_count = (size_t)left - 1;
        status = bench(&order, argc, argv);
    }
    free(own);
    return status;
}

int cli_bench(int argc, char **argv)
{
    if (argc < 2 || cli_wants_help(argv[1])) {
        fputs(help, argc < 2 ? stderr : stdout);
        return argc < 2 ? CLI_USAGE : CLI_OK;
    }
    if (strcmp(argv[1], "tune") == 0)
        return cli_bench_tune(argc - 1, argv + 1);
    if (strcmp(argv[1], "gemm") == 0 || strcmp(argv[1], "attention") == 0 || strcmp(argv[1], "layer") == 0)
        return bench_suite(argc, argv);
    return cli_error(*argv[1] == '-' ? "bench: the suite comes before \"%s\": gemm, attention, layer or tune"
                                     : "bench: no suite \"%s\"; fovea bench --help lists them",
                     argv[1]);
}
