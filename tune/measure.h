// SPDX-License-Identifier: Apache-2.0
// tune/measure.h - candidates against one another on a machine that others disturb.
#ifndef FOVEA_TUNE_MEASURE_H
#define FOVEA_TUNE_MEASURE_H

#include "bench/stats.h"
#include "fovea/executor.h"
#include "tune/case.h"
#include "tune/stats.h"

#include <signal.h>

enum { TUNE_PROBES = 63 };

/// The cases of a class, and the peak that tells whether a moment is calm.
struct tune_track {
    struct tune_case *cases[TUNE_CASES_MAX];
    uint32_t count;
    uint64_t calls[TUNE_CASES_MAX]; ///< of a sample: as many as take 200 us
    double seconds[TUNE_CASES_MAX]; ///< of a call, at first sight
    const char *isa;                ///< whose multiply-adds are the probe
    const struct fovea_executor *executor;
    double patience;                              ///< seconds that the end of a disturbance is waited for
    double pure[TUNE_PROBES], mixed[TUNE_PROBES]; ///< the last probes, a ring
    uint32_t probes;                              ///< so far
    uint64_t pairs, disturbed;                    ///< all that were measured, and those that did not count
};

/// A choice made ready for all cases, and what its pairs with the incumbent gave.
struct tune_racer {
    struct fovea_tuned tuned;
    struct fovea_engine *engine;
    void *ready[TUNE_CASES_MAX];
    bool affected[TUNE_CASES_MAX]; ///< does something else than the incumbent there
    double logs[TUNE_PAIRS_MAX];   ///< log(incumbent's time / its own), mean over affected cases, of whole pairs
    double case_logs[TUNE_CASES_MAX][TUNE_PAIRS_MAX];
    uint32_t case_pairs[TUNE_CASES_MAX];
    uint32_t pairs, turns; ///< whole ones noted, and all that were measured
};

/// Seconds from some moment on, on the wall.
double tune_now(void);

/// When a search ends: at a time of tune_now, or as soon as *stop is not 0 (NULL: nobody asks for that).
struct tune_end {
    double deadline;
    const volatile sig_atomic_t *stop;
};
bool tune_stopped(const struct tune_end *end);
/// Whether it was stopped or is late.
bool tune_over(const struct tune_end *end);

/// Makes a choice ready. False where a case refuses it, or without memory.
bool tune_racer_start(struct tune_racer *racer, const struct tune_track *track, const struct fovea_engine *engine,
                      uint32_t class, const struct fovea_tuned *tuned);
void tune_racer_end(struct tune_racer *racer, const struct tune_track *track);
/// Marks the cases where the plans of both differ; false where they are the same everywhere.
bool tune_racer_differs(struct tune_racer *racer, const struct tune_racer *incumbent, const struct tune_track *track);
/// How many cases are marked.
uint32_t tune_racer_affected(const struct tune_racer *racer, const struct tune_track *track);
/// Times a choice once to find how many calls make a sample.
void tune_track_calibrate(struct tune_track *track, const struct tune_racer *racer);

/// Seconds that a pair on all affected cases takes, about.
double tune_pair_seconds(const struct tune_track *track, const struct tune_racer *racer);
/// One pair: both on each affected case (`one`: on one of them, by turns), incumbent first and last in even calls,
/// racer first and last in odd ones. A pair beside which the probe is 7 % below what is usual is not noted: returns
/// false.
bool tune_pair(struct tune_track *track, const struct tune_racer *incumbent, struct tune_racer *racer, bool one);
/// Forgets its pairs.
void tune_racer_rest(struct tune_racer *racer);
/// The median of the logs of whole pairs, 0 without any.
double tune_racer_median(const struct tune_racer *racer);
/// The mean of the medians of the cases it affects, 0 without pairs.
double tune_racer_mean(const struct tune_racer *racer, const struct tune_track *track);
/// What it is worth to the class: the sum of the medians, losses thrice, as none is adopted that has one. So a
/// crossover that gains a little on two cases is worth more than one that gains that on one of them.
double tune_racer_worth(const struct tune_racer *racer, const struct tune_track *track);
/// Whether it is slower than the incumbent on any case, by more than `loss` (a logarithm) and not by chance (p).
bool tune_racer_loses(const struct tune_racer *racer, const struct tune_track *track, double loss, double p);

#endif
