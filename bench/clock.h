// SPDX-License-Identifier: Apache-2.0
// bench/clock.h - the time that work takes, and the time the hypervisor gave to others.
#ifndef FOVEA_BENCH_CLOCK_H
#define FOVEA_BENCH_CLOCK_H

#include <stdint.h>

/// Seconds from some moment on, as work of so many threads is timed. One: the CPU time of this process (all its
/// threads: one that a peer started in secret counts), in which other programs on the same core do not show. More:
/// the time on the wall.
double bench_seconds(uint32_t threads);

/// How many calls of so many seconds each make a sample, which takes 200 us. Some clocks advance in steps of 10 ms: a
/// call of 0 seconds is one of 10 ns.
uint64_t bench_calls(double seconds);

/// Ticks since boot: all of them, and those in which this machine wanted to run and the host ran another. Both 0 where
/// /proc/stat is not there.
struct bench_ticks {
    double all, stolen;
};
struct bench_ticks bench_ticks(void);
/// The stolen share of the time since `before`, 0 to 1.
double bench_stolen_since(struct bench_ticks before);

#endif
