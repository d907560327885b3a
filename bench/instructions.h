// SPDX-License-Identifier: Apache-2.0
// bench/instructions.h - how many instructions a call executes: the figure that no neighbour disturbs.
#ifndef FOVEA_BENCH_INSTRUCTIONS_H
#define FOVEA_BENCH_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/// Steps through run(arg) in a copy of this process (ptrace), one instruction at a time, and counts them; instructions
/// of the system do not count. That takes 3 to 40 us for each instruction. Call run(arg) once before, so that symbols
/// are bound. False where the system does not allow it, or after `seconds`.
bool bench_instructions(void (*run)(void *arg), void *arg, double seconds, uint64_t *count);

#endif
