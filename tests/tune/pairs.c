// SPDX-License-Identifier: Apache-2.0
// tests/tune/pairs.c - all samples of a pair are over matrices that begin alike, whatever was measured before, and each
// order meets each kind; a difference that only one kind shows is what the other half of the pairs is without.
#include "bench/pool.h"
#include "tests/support/test.h"
#include "tune/measure.h"

enum { SAMPLES_MAX = 64, ROUNDS = 8, PAIR = 4 };

static struct {
    bool within[SAMPLES_MAX], racer[SAMPLES_MAX];
    uint32_t count;
} seen;
static char incumbent_ready, racer_ready;

// A sample of 100 us, or one for which no second one is taken. The racer is twice as fast within lines.
static double seconds(void *ready, uint64_t calls, bool within, double call)
{
    (void)calls;
    if (seen.count < SAMPLES_MAX) {
        seen.within[seen.count] = within;
        seen.racer[seen.count++] = ready == &racer_ready;
    }
    return ready == &racer_ready && within ? call / 2 : call;
}

static double short_seconds(void *ready, uint64_t calls, bool within)
{
    return seconds(ready, calls, within, 1e-4);
}

static double long_seconds(void *ready, uint64_t calls, bool within)
{
    return seconds(ready, calls, within, 2e-3);
}

static void check(const struct bench_pool *pool, const struct tune_case_kind *kind, uint32_t samples, uint32_t stray)
{
    static struct tune_racer incumbent, racer;
    struct tune_case c = {.kind = kind};
    struct tune_track track = {.cases = {&c}, .count = 1, .isa = "scalar", .executor = bench_pool_executor(pool)};
    memset(&racer, 0, sizeof racer);
    incumbent.ready[0] = &incumbent_ready;
    racer.ready[0] = &racer_ready;
    racer.affected[0] = true;
    tune_track_calibrate(&track, &incumbent);
    for (uint32_t i = 0; i < stray; i++)
        kind->seconds(&incumbent_ready, 1, false);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        seen.count = 0;
        const uint32_t before = racer.pairs;
        const bool recorded = tune_pair(&track, &incumbent, &racer, false);
        if (seen.count == 0) // the machine was disturbed before
            continue;
        const bool within = i / 2 % 2 != 0;
        CHECK(seen.count == samples && seen.racer[0] == (i % 2 != 0), "pair %u: %u samples, the racer's first: %d", i,
              seen.count, seen.racer[0]);
        for (uint32_t j = 0; j < seen.count; j++)
            CHECK(seen.within[j] == within, "pair %u, sample %u: within %d", i, j, seen.within[j]);
        CHECK(!recorded || (racer.logs[before] > 0.5) == within, "pair %u: %g", i, racer.logs[before]);
    }
}

int main(void)
{
    static const struct tune_case_kind small = {.seconds = short_seconds}, large = {.seconds = long_seconds};
    struct bench_pool *const pool = bench_pool_start(1);
    CHECK(pool != NULL, "no pool");
    for (uint32_t stray = 0; stray < PAIR && pool; stray++) {
        check(pool, &small, PAIR, stray);
        check(pool, &large, PAIR / 2, stray);
    }
    bench_pool_stop(pool);
    return test_done();
}
