// SPDX-License-Identifier: Apache-2.0
// bench/count_callgrind.c - valgrind's callgrind counts the calls of one function, and writes a dump after each.
//
// No header of valgrind is needed: its options name the function (cli/bench_count.c), and the dumps FOLDER/out.1,
// out.2, ... hold a line "totals: COUNT". valgrind 3.19 shows a Haswell (AVX2) wherever it runs.
#include "bench/instructions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

// What callgrind looks for by name: never inlined, and never a tail call that has left it before run() begins.
__attribute__((noinline, used)) static void bench_callgrind_call(void (*run)(void *arg), void *arg)
{
    run(arg);
    __asm__ volatile("");
}

static bool read_totals(FILE *file, uint64_t *count)
{
    char line[256];
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "totals: %" SCNu64, count) == 1)
            return true;
    return false;
}

static bool count(void (*run)(void *arg), void *arg, double seconds, uint64_t *instructions)
{
    static unsigned dumps;
    char path[4096];
    (void)seconds;
    bench_callgrind_call(run, arg);
    const int length = snprintf(path, sizeof path, "%s/out.%u", getenv(BENCH_CALLGRIND), ++dumps);
    FILE *const file = length < (int)sizeof path ? fopen(path, "r") : NULL;
    if (!file)
        return false;
    const bool done = read_totals(file, instructions);
    fclose(file);
    remove(path);
    return done;
}

static bool here(void)
{
    return getenv(BENCH_CALLGRIND) != NULL;
}

const struct bench_way bench_way_callgrind = {"callgrind", here, count};
