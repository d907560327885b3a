// SPDX-License-Identifier: Apache-2.0
// bench/counters.c - counters of a line.
#include "bench/counters.h"
#include "bench/instructions.h"
#include "bench/table.h"

#include <math.h>

void bench_count(struct bench_result *result, const char *name, double value)
{
    if (result->counter_count < BENCH_COUNTERS) {
        result->counters[result->counter_count].name = name;
        result->counters[result->counter_count++].value = value;
    }
}

void bench_count_pace(struct bench_result *result, double gflops, const struct pace *pace)
{
    result->seconds = pace->seconds;
    bench_count(result, "gflops", gflops);
    bench_count(result, "calm", pace->calm);
    if (pace->peak.median > 0) {
        bench_count(result, "of_peak", pace->peak.median);
        bench_count(result, "of_peak_q1", pace->peak.low);
        bench_count(result, "of_peak_q3", pace->peak.high);
    }
    if (pace->stream > 0) {
        bench_count(result, "of_stream", pace->stream);
        bench_count(result, "of_bound", pace->bound);
    }
}

static void call_once(void *arg)
{
    const struct racer *const racer = arg;
    racer->who->run(racer->prepared, 0);
}

uint64_t bench_count_instructions(struct bench_result *result, struct racer *racer, const struct bench_options *options)
{
    static const double patience = 5;
    uint64_t instructions;
    if (!options->instructions || options->threads > 1 ||
        !bench_instructions(call_once, racer, patience, &instructions))
        return 0;
    bench_count(result, "instructions", (double)instructions);
    return instructions;
}

bool bench_untimed(struct bench_result *result, const char *name, struct racer *racer,
                   const struct bench_options *options)
{
    const uint64_t instructions = bench_count_instructions(result, racer, options);
    result->seconds = NAN;
    result->calls = 1;
    if (!instructions)
        result->error = "not counted: more than one thread, more than 5 s of single steps, or not allowed";
    if (!options->json && instructions)
        table_untimed(name, instructions);
    else if (!options->json)
        table_error(name, result->error);
    return instructions != 0;
}
