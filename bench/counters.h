// SPDX-License-Identifier: Apache-2.0
// bench/counters.h - what every suite counts, by the names that docs/benchmarks.md gives.
#ifndef FOVEA_BENCH_COUNTERS_H
#define FOVEA_BENCH_COUNTERS_H

#include "bench/bench.h"
#include "bench/race.h"
#include "bench/shim.h"

/// Adds a counter; past BENCH_COUNTERS it is left out.
void bench_count(struct bench_result *result, const char *name, double value);
/// The time of a racer on its own, and its fractions of the peak and of the stream.
void bench_count_pace(struct bench_result *result, double gflops, const struct pace *pace);
/// The instructions of a call, if the options ask for them. Returns them; 0 where they are not counted: with several
/// threads, or where bench_instructions cannot.
uint64_t bench_count_instructions(struct bench_result *result, struct racer *racer,
                                  const struct bench_options *options);
/// All of a line that is not timed: its instructions, printed unless options->json. False, with result->error, where
/// they are not counted.
bool bench_untimed(struct bench_result *result, const char *name, struct racer *racer,
                   const struct bench_options *options);

#endif
