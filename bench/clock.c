// SPDX-License-Identifier: Apache-2.0
// bench/clock.c - CPU time, wall time, how much of it is a sample, and stolen time from /proc/stat.
#include "bench/clock.h"

#include <stdio.h>
#include <time.h>

double bench_seconds(uint32_t threads)
{
    struct timespec now;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t bench_calls(double seconds)
{
    static const double sample = 200e-6, least = 1e-8;
    return (uint64_t)(sample / (seconds > least ? seconds : least)) + 1;
}

struct bench_ticks bench_ticks(void)
{
    enum { FIELDS = 8, STEAL = 7 }; // user nice system idle iowait irq softirq steal
    struct bench_ticks ticks = {0, 0};
    FILE *const file = fopen("/proc/stat", "re");
    if (!file)
        return ticks;
    double value;
    if (fscanf(file, "cpu") == 0)
        for (int i = 0; i < FIELDS && fscanf(file, "%lf", &value) == 1; i++) {
            ticks.all += value;
            ticks.stolen += i == STEAL ? value : 0;
        }
    fclose(file);
    return ticks;
}

double bench_stolen_since(struct bench_ticks before)
{
    const struct bench_ticks now = bench_ticks();
    return now.all > before.all ? (now.stolen - before.stolen) / (now.all - before.all) : 0;
}
