// SPDX-License-Identifier: Apache-2.0
// bench/probe_stream.c - the rate at which memory is read.
//
// Four streams, as one stream waits for the page walks of the prefetcher, with a software prefetch 2 KiB ahead: on
// Cascade Lake the fastest of 1 to 8 streams with and without, by 0 to 7 %. Loads of 16 bytes: 4 for a line are far
// below what any core issues while a line comes from memory.
#include "bench/clock.h"
#include "bench/probe.h"

#include <stdint.h>

enum { LINE = 64, STREAMS = 4, AHEAD = 2048, WORD = 16 };

typedef float word __attribute__((vector_size(16)));

struct part {
    const char *memory;
    size_t bytes; // of each part
};

// The load cannot be left out: its value goes into a register that the (empty) assembly reads.
static void load(const char *memory)
{
    const word value = *(const word *)(const void *)memory;
#if defined(__x86_64__)
    __asm__ volatile("" : : "x"(value));
#elif defined(__aarch64__)
    __asm__ volatile("" : : "w"(value));
#else
    __asm__ volatile("" : : "m"(value));
#endif
}

static void read_part(void *arg, uint32_t task, uint32_t worker)
{
    const struct part *const part = arg;
    const char *const memory = part->memory + task * part->bytes;
    const size_t stream = part->bytes / STREAMS;
    (void)worker;
    for (size_t at = 0; at < stream; at += LINE)
        for (size_t s = 0; s < STREAMS; s++) {
            const char *const line = memory + s * stream + at;
            __builtin_prefetch(line + AHEAD);
            for (size_t i = 0; i < LINE; i += WORD)
                load(line + i);
        }
}

double bench_read_stream(const void *memory, size_t bytes, const struct fovea_executor *executor)
{
    const size_t grain = (size_t)STREAMS * LINE * executor->workers;
    const size_t whole = bytes / grain * grain; // lines that do not fill the streams are left out, at most 1 KiB each
    struct part part = {memory, whole / executor->workers};
    const double start = bench_seconds(executor->workers);
    executor->parallel_for(executor->state, executor->workers, read_part, &part);
    return (double)whole / (bench_seconds(executor->workers) - start);
}
