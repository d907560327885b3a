// SPDX-License-Identifier: Apache-2.0
// bench/race.c - timing on a machine that others share: short samples, each beside its denominator, and medians.
//
// A figure of today against a figure of an hour ago says as much about the neighbours as about the code. So every
// sample has its own denominator, the larger of the probes before and after it; and two contestants take turns, first
// one then the other, next time the other way round, so that neither profits from what the other leaves behind.
#include "bench/race.h"
#include "bench/clock.h"
#include "bench/probe.h"

#include <math.h>
#include <time.h>

enum { SAMPLES_MIN = 7, SAMPLES_MAX = 400, GLANCES = 3 };

static void advance(struct track *track)
{
    track->next = track->next + 1 < track->load.count ? track->next + 1 : 0;
}

// Seconds of a call, over `calls` of them.
static double sample(const struct racer *racer, struct track *track, uint64_t calls)
{
    const uint32_t threads = track->load.threads;
    const double start = bench_seconds(threads);
    for (uint64_t i = 0; i < calls; i++) {
        racer->who->run(racer->prepared, track->next);
        advance(track);
    }
    return (bench_seconds(threads) - start) / (double)calls;
}

// With several threads: those of a library that ran just before still spin, on cores that are wanted now. They are
// given the time to fall asleep: until this process takes no more of any core, at most 0.2 s. A kernel counts the time
// of a thread that runs elsewhere at its ticks, 4 ms apart, so shorter looks saw none.
static void let_others_sleep(const struct track *track)
{
    enum { LOOKS = 10 };
    const struct timespec wait = {0, 20000000};
    for (int i = 0; track->load.threads > 1 && i < LOOKS; i++) {
        const double wall = bench_seconds(2), cpu = bench_seconds(1);
        nanosleep(&wait, NULL);
        if (bench_seconds(1) - cpu < 0.1 * (bench_seconds(2) - wall))
            break;
    }
}

// With several threads: calls that wake the library's, and last until they have a core each. A kernel may wake them
// where another one runs, and takes some ms to move it.
static double sample_after_another(const struct racer *racer, struct track *track)
{
    static const double spread = 20e-3;
    if (track->load.threads > 1) {
        let_others_sleep(track);
        for (double left = spread; left > 0;)
            left -= fmax(sample(racer, track, racer->calls) * (double)racer->calls, 1e-6);
    }
    return sample(racer, track, racer->calls);
}

bool racer_start(struct racer *racer, const struct contestant *who, bool packed, struct track *track, double *error)
{
    *error = 0;
    *racer = (struct racer){.who = who, .packed = packed};
    racer->prepared = who->prepare(who->state, track->problem.operands, packed);
    if (!racer->prepared)
        return false;
    track->problem.spoil(track->problem.operands);
    who->run(racer->prepared, 0);
    *error = track->problem.check(track->problem.operands);
    if (*error > (who->coarse ? who->coarse(racer->prepared) : 0)) {
        racer_end(racer);
        return false;
    }
    racer->seconds = fmin(sample(racer, track, 1), sample(racer, track, 1));
    if (bench_calls(racer->seconds) > 1) // a better guess, of warm calls
        racer->seconds = sample(racer, track, bench_calls(racer->seconds));
    racer->calls = bench_calls(racer->seconds);
    return true;
}

size_t racer_work_bytes(const struct racer *racer)
{
    return racer->who->work_bytes ? racer->who->work_bytes(racer->prepared) : 0;
}

void racer_end(struct racer *racer)
{
    if (racer->prepared)
        racer->who->release(racer->prepared);
    racer->prepared = NULL;
}

// The denominators at this moment.
struct moment {
    double flops, bytes; // a second; bytes 0 where nothing streams
    bool calm;           // the core is ours alone, see probe_fma.c
};

static struct moment probe_core(const struct track *track)
{
    const struct bench_peak peak = bench_fma_peak(track->isa, track->executor);
    return (struct moment){.flops = peak.flops, .calm = peak.mixed >= 0.95 * peak.flops};
}

static double read_stream(const struct track *track)
{
    const struct race_load *const load = &track->load;
    return bench_read_stream(load->stream + track->next * load->stride_bytes, load->stream_bytes, track->executor);
}

static struct moment probe(struct track *track)
{
    struct moment moment = probe_core(track);
    if (track->load.stream) {
        moment.bytes = read_stream(track);
        advance(track);
    }
    return moment;
}

void race_walk(struct racer *const *racers, size_t count, struct track *track)
{
    enum { TURNS = 8 };
    const size_t all = track->load.count, first = track->next;
    if (all == 1)
        return;
    for (size_t turn = 0; turn < TURNS; turn++)
        for (size_t r = 0; r < count; r++) {
            let_others_sleep(track);
            for (size_t i = turn * all / TURNS; i < (turn + 1) * all / TURNS; i++)
                racers[r]->who->run(racers[r]->prepared, (first + i) % all);
        }
}

// The same for what the probe reads.
static void walk_stream(struct track *track)
{
    for (size_t i = 0; track->load.stream && track->load.count > 1 && i < track->load.count; i++) {
        read_stream(track);
        advance(track);
    }
}

// Samples, each figure in an array of its own, calm ones in front.
struct samples {
    double seconds[SAMPLES_MAX], peak[SAMPLES_MAX], stream[SAMPLES_MAX], bound[SAMPLES_MAX];
    size_t count, calm;
};

static void add_sample(struct samples *s, const struct race_load *load, double seconds, struct moment before,
                       struct moment after)
{
    const double flops = load->flops, bytes = (double)load->stream_bytes;
    const double peak = fmax(before.flops, after.flops), stream = fmax(before.bytes, after.bytes);
    const double least = fmax(peak > 0 ? flops / peak : 0, stream > 0 ? bytes / stream : 0);
    const double figures[] = {seconds, peak > 0 ? flops / seconds / peak : 0, stream > 0 ? bytes / seconds / stream : 0,
                              least / seconds};
    double *const arrays[] = {s->seconds, s->peak, s->stream, s->bound};
    const bool calm = before.calm && after.calm;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        arrays[i][s->count] = calm ? arrays[i][s->calm] : figures[i]; // the first that was not calm makes room
        if (calm)
            arrays[i][s->calm] = figures[i];
    }
    s->count++;
    s->calm += calm;
}

struct pace race_alone(struct racer *racer, struct track *track, double min_time)
{
    enum { PATIENCE = 4 }; // times min_time, for calm samples
    struct samples s = {.count = 0};
    double timed = 0;
    race_walk(&racer, 1, track);
    walk_stream(track);
    struct moment before = probe(track);
    while (s.count < SAMPLES_MAX) {
        const bool calm_enough = s.calm >= SAMPLES_MIN && s.calm * 2 >= s.count;
        if (s.count >= SAMPLES_MIN && timed >= min_time &&
            (calm_enough || (timed >= PATIENCE * min_time && s.count >= 2 * SAMPLES_MIN)))
            break;
        const double time = sample(racer, track, racer->calls);
        const struct moment after = probe(track);
        add_sample(&s, &track->load, time, before, after);
        timed += time * (double)racer->calls;
        before = after;
    }
    const bool enough = s.calm >= SAMPLES_MIN;
    const size_t n = enough ? s.calm : s.count;
    return (struct pace){
        .samples = s.count,
        .calm = enough ? (double)s.calm / (double)s.count : 0,
        .seconds = bench_quantile(s.seconds, n, 0.5),
        .peak = {bench_quantile(s.peak, n, 0.25), bench_quantile(s.peak, n, 0.5), bench_quantile(s.peak, n, 0.75)},
        .stream = bench_quantile(s.stream, n, 0.5),
        .bound = bench_quantile(s.bound, n, 0.5),
    };
}

struct bench_interval race_pairs(struct racer *first, struct racer *second, struct track *track, size_t pairs)
{
    double calm[SAMPLES_MAX], all[SAMPLES_MAX];
    size_t calm_count = 0, count = 0;
    race_walk((struct racer *const[]){first, second}, 2, track);
    struct moment before = probe_core(track);
    for (; calm_count < pairs && count < 2 * pairs && count < SAMPLES_MAX; count++) {
        struct racer *const earlier = count % 2 ? second : first, *const later = count % 2 ? first : second;
        const double one = sample_after_another(earlier, track), two = sample_after_another(later, track);
        const struct moment after = probe_core(track);
        all[count] = count % 2 ? one / two : two / one;
        if (before.calm && after.calm)
            calm[calm_count++] = all[count];
        before = after;
    }
    return calm_count == pairs ? bench_bootstrap(calm, pairs) : bench_bootstrap(all, count);
}

double race_glance(struct racer *racer, struct track *track)
{
    double seconds[GLANCES];
    for (size_t i = 0; i < GLANCES; i++)
        seconds[i] = sample_after_another(racer, track);
    return bench_quantile(seconds, GLANCES, 0.5);
}
