// SPDX-License-Identifier: Apache-2.0
// tune/measure.h - timing candidates against one another on a machine that is disturbed by others.
#ifndef FOVEA_TUNE_MEASURE_H
#define FOVEA_TUNE_MEASURE_H

#include "bench/stats.h"
#include "fovea/executor.h"
#include "tune/case.h"
#include "tune/stats.h"

#include <signal.h>

enum { TUNE_PROBES = 63 };

/// The cases of a class, and probes of the peak that tell whether the machine is calm.
struct tune_track {
    struct tune_case *cases[TUNE_CASES_MAX];
    uint32_t count;
    uint64_t calls[TUNE_CASES_MAX]; ///< calls per sample: as many as take 200 us
    double seconds[TUNE_CASES_MAX]; ///< first estimate of the time of a call
    const char *isa;                ///< the ISA whose multiply-adds are the probe
    const struct fovea_executor *executor;
    double patience;                              ///< seconds to wait for the end of a disturbance
    double pure[TUNE_PROBES], mixed[TUNE_PROBES]; ///< the last probes, a ring
    uint32_t probes;                              ///< so far
    uint64_t pairs, disturbed;                    ///< all measured pairs, and those that did not count
};

/// A choice prepared for all cases, and the results of its pairs with the incumbent.
struct tune_racer {
    struct fovea_tuned tuned;
    struct fovea_engine *engine;
    void *ready[TUNE_CASES_MAX];
    bool affected[TUNE_CASES_MAX]; ///< its plan differs from the incumbent's there
    double logs[TUNE_PAIRS_MAX];   ///< log(incumbent's time / its own), mean over affected cases, for whole pairs
    double case_logs[TUNE_CASES_MAX][TUNE_PAIRS_MAX];
    uint32_t case_pairs[TUNE_CASES_MAX];
    uint32_t pairs, turns; ///< whole pairs recorded, and all that were measured
};

/// Wall-clock seconds since some fixed moment.
double tune_now(void);

/// When a search ends: at a time of tune_now, or as soon as *stop is not 0 (NULL: never).
struct tune_end {
    double deadline;
    const volatile sig_atomic_t *stop;
};
bool tune_stopped(const struct tune_end *end);
/// Whether it was stopped or the time is over.
bool tune_over(const struct tune_end *end);

/// Prepares a choice. False if a case refuses it, or if there is no memory.
bool tune_racer_start(struct tune_racer *racer, const struct tune_track *track, const struct fovea_engine *engine,
                      uint32_t class, const struct fovea_tuned *tuned);
void tune_racer_end(struct tune_racer *racer, const struct tune_track *track);
/// Marks the cases in which the two plans differ; false if they are the same everywhere.
bool tune_racer_differs(struct tune_racer *racer, const struct tune_racer *incumbent, const struct tune_track *track);
/// The number of marked cases.
uint32_t tune_racer_affected(const struct tune_racer *racer, const struct tune_track *track);
/// Times a choice once to determine how many calls make a sample.
void tune_track_calibrate(struct tune_track *track, const struct tune_racer *racer);

/// Approximate seconds of a pair on all affected cases.
double tune_pair_seconds(const struct tune_track *track, const struct tune_racer *racer);
/// Measures one pair: both on each affected case (`one`: on one of them, in turns), the incumbent first and last in
/// even rounds, the racer first and last in odd ones; matrices from memory begin within cache lines in the third and
/// fourth of four rounds. If the probe next to it is 7 % below the usual the pair is not
/// recorded, and the result is false.
bool tune_pair(struct tune_track *track, const struct tune_racer *incumbent, struct tune_racer *racer, bool one);
/// Forgets its pairs.
void tune_racer_rest(struct tune_racer *racer);
/// The median of the logs of whole pairs; 0 if there are none.
double tune_racer_median(const struct tune_racer *racer);
/// The mean of the medians of the affected cases; 0 if there are no pairs.
double tune_racer_mean(const struct tune_racer *racer, const struct tune_track *track);
/// Its value to the class: the sum of the medians, with losses counted three times, as a choice with a loss is never
/// adopted. So a crossover that gains a little on two cases is worth more than one that gains that on one of them.
double tune_racer_worth(const struct tune_racer *racer, const struct tune_track *track);
/// Whether it is slower than the incumbent on some case, by more than is allowed, 1 %, and not by chance (p < 0.1).
bool tune_racer_loses(const struct tune_racer *racer, const struct tune_track *track);

#endif
