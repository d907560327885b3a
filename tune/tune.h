// SPDX-License-Identifier: Apache-2.0
// tune/tune.h - the autotuner: its options, progress and result.
//
// Class by class, the candidates of a stage are verified in a child process, those that give the scalar path's bits are
// timed against the incumbent, and the best of them replaces it. What remains at the end is adopted if it beats the
// default in fresh pairs. So everything adopted is proved, whenever the tuner ends.
#ifndef FOVEA_TUNE_TUNE_H
#define FOVEA_TUNE_TUNE_H

#include "tune/child.h"
#include "tune/space.h"

#include <signal.h>

/// Progress, for display.
struct tune_progress {
    const char *what;       ///< "gemm some-far-nt, kc mc: 12 candidates"
    double best;            ///< gain of the best so far in this class, 1.05 is 5 %; 0: none yet
    double elapsed, budget; ///< seconds
    uint32_t done, total;   ///< classes
};

struct tune_options {
    const struct fovea_engine *engine; ///< created without a profile: its defaults must be beaten
    enum fovea_profile_level level;
    double budget;                     ///< seconds, a hard limit; 0: the level's own
    double begun;                      ///< start of the budget (tune_now); 0: now
    const struct fovea_profile *start; ///< NULL, or initial incumbents, and a quarantine to keep
    bool keep;                         ///< start is proved: its classes are kept if there is no time for them
    const char *only;                  ///< NULL, or the classes whose "operator name" contains this: tune_classes_of
    const volatile sig_atomic_t *stop; ///< NULL, or becomes nonzero when it should end now
    void (*tell)(void *arg, const struct tune_progress *progress); ///< NULL: no progress reports
    void *arg;
    double patience; ///< seconds of silence after which a candidate counts as hanging; 0: 5. It also does after a
                     ///< second of its own CPU time, or `patience` if that is less: see struct tune_patience.
    /// For tests: changes what a candidate would run, to simulate a kernel that is wrong on this machine.
    void (*tamper)(struct fovea_engine *engine, uint32_t class, const struct fovea_tuned *tuned);
};

/// One candidate, for the report.
struct tune_trial {
    uint32_t class, stage;
    struct fovea_tuned tuned;
    enum tune_verdict verdict;
    uint32_t cases; ///< cases it was verified on
    double gain;    ///< median of the incumbent's time / its own; 0: not timed
    uint32_t pairs;
    double at; ///< seconds after the start
};

struct tune_result {
    struct fovea_profile profile;
    struct tune_trial *trials; ///< to be freed by the caller
    size_t trial_count;
    double seconds;
    uint64_t pairs, disturbed;
    uint32_t classes, classes_done;
    uint32_t classes_left; ///< classes with problems for which there was no memory or no time
    uint32_t failures;     ///< candidates and kernels with wrong bits
    bool interrupted;
};

/// The number of classes selected by `only`.
uint32_t tune_classes_of(const char *only);

/// Tunes. Returns false only if there is no memory; result is then empty. The profile of a run that was interrupted, or
/// had no time for any class, has the level it started with.
bool tune_run(const struct tune_options *options, struct tune_result *result);
void tune_result_free(struct tune_result *result);

/// Finds the best choice for one GEMM by trying everything (for the bench) until `seconds` are over.
struct tune_shape;
bool tune_best(const struct fovea_engine *engine, const struct tune_shape *shape, double seconds,
               struct fovea_tuned *best);

#endif
