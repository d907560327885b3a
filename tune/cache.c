// SPDX-License-Identifier: Apache-2.0
// tune/cache.c - a chain of loads through all lines of a footprint, in an order that no prefetcher follows.
//
// What a machine reports about its caches may be wrong (a hypervisor's table, a share of another core, FOVEA_CACHES);
// the latency of a load is not. A line in L2 takes 12 to 17 cycles, one beyond it 40 and more. Three quarters of each
// size are tested: that is where the problems between two borders are, and no program ever has all of an L2 to itself.
// On Zen 3 (L2 512 KiB) loads from 384 KiB take 1.2 times as long as from 64, from 768 KiB 3.1 times; small pages,
// whose sets collide by chance, raise the former to 2.2.
#include "tune/cache.h"
#include "bench/clock.h"
#include "bench/memory.h"
#include "dispatch/tuning.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { LINE = 64, PASSES = 7, TRIES = 5, SMALL_KIB = 64 };
static const double beyond = 2.5; // times the latency of a small footprint: the data are not in L2

// Seconds per load. The order is that of a full-period generator modulo a power of two, without numbers beyond the
// footprint.
static double load_seconds(char *memory, size_t bytes)
{
    const size_t lines = bytes / LINE;
    size_t all = 1, at = 0, last = 0;
    while (all < lines)
        all *= 2;
    for (size_t i = 0; i < all; i++) {
        at = (at * 1664525 + 1013904223) & (all - 1);
        if (at < lines && at != 0) {
            *(size_t *)(memory + last * LINE) = at * LINE;
            last = at;
        }
    }
    *(size_t *)(memory + last * LINE) = 0;
    double best = INFINITY;
    for (int pass = 0; pass < PASSES; pass++) {
        const size_t loads = lines > 16384 ? lines : 16384;
        const double start = bench_seconds(1);
        for (size_t i = 0; i < loads; i++)
            at = *(const volatile size_t *)(memory + at);
        best = fmin(best, (bench_seconds(1) - start) / (double)loads);
    }
    return best;
}

// An L2 size that was found once does exist: another hyper-thread of the core may share its L2 for a while and take
// half of it. The same goes for the fastest load of a small footprint, which is timed again with each size: compared
// with a disturbed one, twice the L2 once counted as near (2.9 times as long on Zen 5).
static size_t found_before;
static double near_before = INFINITY;

static double near_seconds(char *memory)
{
    for (int tries = 0; tries < TRIES; tries++)
        near_before = fmin(near_before, load_seconds(memory, SMALL_KIB << 10));
    return near_before;
}

size_t tune_measured_most(void)
{
    uint32_t count;
    const struct fovea_tunable *const border = fovea_tunables(FOVEA_TUNED_CACHE, &count);
    return (size_t)border->values[border->count - 1] << 10;
}

size_t tune_measure_l2(void)
{
    uint32_t count;
    const struct fovea_tunable *const border = fovea_tunables(FOVEA_TUNED_CACHE, &count);
    const size_t most = tune_measured_most();
    char *const memory = bench_alloc(most);
    size_t found = 0;
    if (!memory)
        return found_before;
    const struct timespec pause = {0, 4000000};
    for (uint32_t i = 0; i < border->count; i++) {
        const size_t bytes = (size_t)border->values[i] << 10;
        bool stays = false;
        for (int tries = 0; tries < TRIES && !stays; tries++) { // other programs on this core can only take cache away
            if (tries)
                nanosleep(&pause, NULL);
            stays = load_seconds(memory, bytes / 4 * 3) < beyond * near_seconds(memory);
        }
        if (!stays)
            break;
        found = bytes;
    }
    bench_free(memory, most);
    found_before = found > found_before ? found : found_before;
    return found_before;
}

uint32_t tune_believed_l2(uint32_t reported, uint32_t kept, size_t measured)
{
    return measured / 2 >= reported && measured > kept ? (uint32_t)measured : kept;
}
