// SPDX-License-Identifier: Apache-2.0
// bench/counters.c - counters of a line.
#include "bench/counters.h"

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
