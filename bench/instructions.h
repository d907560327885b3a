// SPDX-License-Identifier: Apache-2.0
// bench/instructions.h - how many instructions a call executes: the figure that no neighbour disturbs.
#ifndef FOVEA_BENCH_INSTRUCTIONS_H
#define FOVEA_BENCH_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/// Counts the instructions that run(arg) executes, without those of the system, in the way that is to be had here. Call
/// run(arg) once before, so that symbols are bound. One thread. False where nothing counts, or after `seconds` of
/// single steps.
bool bench_instructions(void (*run)(void *arg), void *arg, double seconds, uint64_t *count);
/// The way: "callgrind" in a process that `fovea bench --count callgrind` started, "qemu" in qemu-user with our plugin
/// (bench/qemu_plugin.c), else "steps".
const char *bench_instructions_way(void);

/// The environment variable that names the folder into which callgrind writes its dumps.
#define BENCH_CALLGRIND "FOVEA_CALLGRIND"
/// The function whose calls callgrind counts, and after which it writes a dump.
#define BENCH_CALLGRIND_TOGGLE "bench_callgrind_call"

/// A way to count. The counts of two calls differ by what they run: what is around it is in both.
struct bench_way {
    const char *name;
    bool (*here)(void); ///< whether this process can
    bool (*count)(void (*run)(void *arg), void *arg, double seconds, uint64_t *count);
};
extern const struct bench_way bench_way_callgrind, bench_way_qemu, bench_way_steps;

#endif
