// SPDX-License-Identifier: Apache-2.0
// bench/bench.h - what `fovea bench` calls: the suites, each line with its denominator measured beside it.
#ifndef FOVEA_BENCH_BENCH_H
#define FOVEA_BENCH_BENCH_H

#include "fovea/engine.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/// How much of a suite runs.
enum bench_suite { BENCH_SMOKE, BENCH_STANDARD, BENCH_ALL };

struct bench_options {
    char *const *names; ///< lines by their names, whatever the shape, in place of a set; or NULL
    size_t name_count;
    bool list;              ///< print the names of the lines, and run none
    const char *filter;     ///< an extended regular expression on names, or NULL
    enum bench_suite suite; ///< how many shapes
    double min_time;        ///< seconds of timed samples for each line
    size_t offset;          ///< bytes by which operands begin behind a cache line
    uint32_t threads;       ///< workers, and threads of every peer; at least 1
    bool json;              ///< Google Benchmark's JSON instead of the table
    bool instructions;      ///< count the instructions of a call, where that takes at most 5 s
    bool untimed;           ///< and take no times: under an emulator they say nothing
    bool peers;             ///< race against the libraries of other people that are installed here
    FILE *report;           ///< NULL, or where a picture of the run goes: an SVG
    bool report_page;       ///< or an HTML page with it
    const volatile sig_atomic_t
        *stop; ///< NULL, or becomes nonzero when the lines that are left are not wanted any more
};

/// Runs the GEMM suite and prints to stdout. Returns the number of lines that failed (a wrong result, no memory), or
/// -1 having said on stderr that no line matches the filter or has such a name, or why it is no regular expression.
/// Lines that were not run, because they are not wanted any more or stdout takes nothing any more, have not failed.
int bench_gemm(const struct fovea_engine *engine, const struct bench_options *options);
/// The attention suite, and that of whole layers, likewise.
int bench_attention(const struct fovea_engine *engine, const struct bench_options *options);
int bench_layer(const struct fovea_engine *engine, const struct bench_options *options);

#endif
