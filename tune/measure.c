// SPDX-License-Identifier: Apache-2.0
// tune/measure.c - pairs: two adjacent samples tell which is faster, whatever the machine's speed at that moment.
#include "tune/measure.h"
#include "bench/clock.h"
#include "bench/probe.h"

#include <math.h>
#include <string.h>
#include <time.h>

double tune_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool tune_stopped(const struct tune_end *end)
{
    return end->stop && *end->stop;
}

bool tune_over(const struct tune_end *end)
{
    return tune_stopped(end) || tune_now() >= end->deadline;
}

bool tune_racer_start(struct tune_racer *racer, const struct tune_track *track, const struct fovea_engine *engine,
                      uint32_t class, const struct fovea_tuned *tuned)
{
    memset(racer, 0, sizeof *racer);
    racer->tuned = *tuned;
    racer->engine = fovea_engine_copy_with(engine, class, tuned);
    bool ok = racer->engine != NULL;
    for (uint32_t i = 0; i < track->count && ok; i++) {
        racer->ready[i] = track->cases[i]->kind->prepare(track->cases[i], racer->engine);
        ok = racer->ready[i] != NULL;
    }
    if (!ok)
        tune_racer_end(racer, track);
    return ok;
}

void tune_racer_end(struct tune_racer *racer, const struct tune_track *track)
{
    for (uint32_t i = 0; i < track->count; i++)
        if (racer->ready[i])
            track->cases[i]->kind->release(racer->ready[i]);
    fovea_engine_destroy(racer->engine);
    memset(racer, 0, sizeof *racer);
}

bool tune_racer_differs(struct tune_racer *racer, const struct tune_racer *incumbent, const struct tune_track *track)
{
    bool any = false;
    for (uint32_t i = 0; i < track->count; i++) {
        racer->affected[i] = !track->cases[i]->kind->same(racer->ready[i], incumbent->ready[i]);
        any |= racer->affected[i];
    }
    return any;
}

void tune_track_calibrate(struct tune_track *track, const struct tune_racer *racer)
{
    for (uint32_t i = 0; i < track->count; i++) {
        const struct tune_case *const c = track->cases[i];
        double seconds = fmin(c->kind->seconds(racer->ready[i], 1, false), c->kind->seconds(racer->ready[i], 1, false));
        if (bench_calls(seconds) > 1) // a better estimate, from warm calls
            seconds = c->kind->seconds(racer->ready[i], bench_calls(seconds), false);
        track->seconds[i] = seconds;
        track->calls[i] = bench_calls(seconds);
    }
}

double tune_pair_seconds(const struct tune_track *track, const struct tune_racer *racer)
{
    double sum = 100e-6; // the probe
    for (uint32_t i = 0; i < track->count; i++)
        sum += racer->affected[i] ? 4 * track->seconds[i] * (double)track->calls[i] : 0;
    return sum;
}

static double usual(const double *ring, uint32_t probes)
{
    double copy[TUNE_PROBES];
    const uint32_t count = probes < TUNE_PROBES ? probes : TUNE_PROBES;
    memcpy(copy, ring, count * sizeof *copy);
    return bench_quantile(copy, count, 0.5);
}

// Whether the probe is close to the median of the last ones. On a quiet machine the median is the peak, and every
// disturbance is filtered out. If a neighbour never leaves, or comes and goes all the time, that is the machine's
// normal state: then only what is worse than usual is filtered out, and the pairs have to decide the rest. (Against the
// highest probe, four pairs of five were lost on a rented machine with a busy neighbour, and nothing could be proved.)
static bool calm(struct tune_track *track)
{
    const struct bench_peak peak = bench_fma_peak(track->isa, track->executor);
    track->pure[track->probes % TUNE_PROBES] = peak.flops;
    track->mixed[track->probes % TUNE_PROBES] = peak.mixed;
    track->probes++;
    return peak.flops >= 0.93 * usual(track->pure, track->probes) &&
           peak.mixed >= 0.93 * usual(track->mixed, track->probes);
}

// A neighbour on the core mostly stays for tens or hundreds of ms. A pair measured next to it would be lost, so its end
// is awaited. A single bad probe means little, because it is disturbed as easily as the pair it guards.
static bool wait_for_calm(struct tune_track *track)
{
    const struct timespec pause = {0, 1000000};
    for (const double end = tune_now() + track->patience;;) {
        if (calm(track) || calm(track))
            return true;
        if (tune_now() >= end)
            return false;
        nanosleep(&pause, NULL);
    }
}

// log(incumbent's time / the racer's) on one case: in the order ABBA, with the faster of both samples each, because a
// disturbance only makes samples slower. Long samples, during which the machine changes anyway, are taken once each, in
// alternating order. All are over matrices that begin alike.
static double pair_on(struct tune_track *track, uint32_t i, void *incumbent, void *racer, bool incumbent_first,
                      bool within)
{
    static const double long_sample = 1e-3;
    const struct tune_case_kind *const kind = track->cases[i]->kind;
    void *const first = incumbent_first ? incumbent : racer, *const second = incumbent_first ? racer : incumbent;
    double one = kind->seconds(first, track->calls[i], within), two = kind->seconds(second, track->calls[i], within);
    if (track->seconds[i] * (double)track->calls[i] < long_sample) {
        two = fmin(two, kind->seconds(second, track->calls[i], within));
        one = fmin(one, kind->seconds(first, track->calls[i], within));
    }
    return log(incumbent_first ? one / two : two / one);
}

uint32_t tune_racer_affected(const struct tune_racer *racer, const struct tune_track *track)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < track->count; i++)
        count += racer->affected[i];
    return count;
}

bool tune_pair(struct tune_track *track, const struct tune_racer *incumbent, struct tune_racer *racer, bool one)
{
    const uint32_t affected = tune_racer_affected(racer, track);
    if (affected == 0)
        return false;
    const uint32_t round = one ? racer->turns / affected : racer->turns; // either order, over either kind of matrices
    const bool incumbent_first = round % 2 == 0, within = round / 2 % 2 != 0;
    double logs[TUNE_CASES_MAX] = {0}, sum = 0;
    bool done[TUNE_CASES_MAX] = {false};
    uint32_t timed = 0, seen = 0;
    const uint32_t turn = racer->turns % affected;
    racer->turns++;
    track->pairs++;
    if (!wait_for_calm(track)) {
        track->disturbed++;
        return false;
    }
    for (uint32_t i = 0; i < track->count; i++)
        if (racer->affected[i] && (seen++ == turn || !one)) {
            logs[i] = pair_on(track, i, incumbent->ready[i], racer->ready[i], incumbent_first, within);
            done[i] = true;
            sum += logs[i];
            timed++;
        }
    if (!calm(track) && !calm(track)) {
        track->disturbed++;
        return false;
    }
    for (uint32_t i = 0; i < track->count; i++)
        if (done[i] && racer->case_pairs[i] < TUNE_PAIRS_MAX)
            racer->case_logs[i][racer->case_pairs[i]++] = logs[i];
    if (!one && racer->pairs < TUNE_PAIRS_MAX && timed)
        racer->logs[racer->pairs++] = sum / timed;
    return true;
}

static double median(const double *values, uint32_t count)
{
    double copy[TUNE_PAIRS_MAX];
    memcpy(copy, values, count * sizeof *copy);
    return count ? bench_quantile(copy, count, 0.5) : 0;
}

void tune_racer_rest(struct tune_racer *racer)
{
    racer->pairs = 0;
    memset(racer->case_pairs, 0, sizeof racer->case_pairs);
}

double tune_racer_median(const struct tune_racer *racer)
{
    return median(racer->logs, racer->pairs);
}

double tune_racer_mean(const struct tune_racer *racer, const struct tune_track *track)
{
    double sum = 0;
    const uint32_t affected = tune_racer_affected(racer, track);
    for (uint32_t i = 0; i < track->count; i++)
        sum += median(racer->case_logs[i], racer->case_pairs[i]);
    return affected ? sum / affected : 0;
}

double tune_racer_worth(const struct tune_racer *racer, const struct tune_track *track)
{
    double sum = 0;
    for (uint32_t i = 0; i < track->count; i++) {
        const double gain = median(racer->case_logs[i], racer->case_pairs[i]);
        sum += gain < 0 ? 3 * gain : gain;
    }
    return sum;
}

bool tune_racer_loses(const struct tune_racer *racer, const struct tune_track *track)
{
    static const double loss = 0.01, p = 0.1; // loss: a logarithm
    for (uint32_t i = 0; i < track->count; i++) {
        double losses[TUNE_PAIRS_MAX];
        const uint32_t pairs = racer->case_pairs[i];
        for (uint32_t j = 0; j < pairs; j++)
            losses[j] = -racer->case_logs[i][j];
        if (racer->affected[i] && median(losses, pairs) > loss && tune_signed_rank(losses, pairs) < p)
            return true;
    }
    return false;
}
