// SPDX-License-Identifier: Apache-2.0
// bench/instructions.c - the ways to count, the best first, and what is around a call taken off.
#include "bench/instructions.h"

#include <stddef.h>

static const struct bench_way *way_here(void)
{
    static const struct bench_way *const ways[] = {&bench_way_callgrind, &bench_way_qemu, &bench_way_steps};
    enum { WAYS = sizeof ways / sizeof *ways };
    for (int i = 0; i + 1 < WAYS; i++)
        if (ways[i]->here())
            return ways[i];
    return ways[WAYS - 1];
}

const char *bench_instructions_way(void)
{
    return way_here()->name;
}

static void nothing(void *arg)
{
    (void)arg;
}

bool bench_instructions(void (*run)(void *arg), void *arg, double seconds, uint64_t *count)
{
    const struct bench_way *const way = way_here();
    uint64_t around;
    // Twice nothing: the first time binds the symbols of what is around.
    if (!way->count(nothing, NULL, seconds, &around) || !way->count(nothing, NULL, seconds, &around) ||
        !way->count(run, arg, seconds, count) || *count < around)
        return false;
    *count -= around;
    return true;
}
