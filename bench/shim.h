// SPDX-License-Identifier: Apache-2.0
// bench/shim.h - the part of Google Benchmark that the suites use, for C: its runner and its JSON.
//
// Google Benchmark runs the lines and writes the report. Which lines, how long to measure, and against what, is
// decided in C: each line is one call that hands back a time, the number of calls it stands for, and counters.
#ifndef FOVEA_BENCH_SHIM_H
#define FOVEA_BENCH_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_COUNTERS = 24 };

/// What a line measured.
struct bench_result {
    double seconds;    ///< of one call (the median); NAN where none was timed: null in the report
    uint64_t calls;    ///< calls that were timed
    const char *error; ///< NULL, or why there is no result
    bool left_out;     ///< it was not run, and is not in the report, nor is any after it
    const char *label; ///< NULL, or a remark; read after the line's function returned
    struct {
        const char *name;
        double value;
    } counters[BENCH_COUNTERS];
    uint32_t counter_count;
};

/// Measures a line.
typedef void bench_measure(void *arg, struct bench_result *result);

/// Adds a line. name is copied.
void bench_register(const char *name, bench_measure *measure, void *arg);
/// Adds a fact to the JSON's context. Both strings are copied.
void bench_context(const char *key, const char *value);
/// Runs the lines in the order they were added, and writes the JSON to stdout if asked. There must be one.
void bench_run(bool json);

#ifdef __cplusplus
}
#endif

#endif
