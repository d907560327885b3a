// SPDX-License-Identifier: Apache-2.0
// tune/tune.h - the autotuner: what it is asked, what it tells meanwhile, what comes out.
//
// Class by class: the candidates of a stage are verified in a child process, those that give the scalar path's bits
// race against the incumbent, the best of them replaces it; what is left in the end is adopted if it beats the default
// in fresh pairs. So whenever it ends, what it has adopted is proved.
#ifndef FOVEA_TUNE_TUNE_H
#define FOVEA_TUNE_TUNE_H

#include "tune/child.h"
#include "tune/space.h"

#include <signal.h>

/// What is going on, for people.
struct tune_progress {
    const char *what;       ///< "gemm some-far-nt, kc mc: 12 candidates"
    double best;            ///< gain of the best so far in this class, 1.05 is 5 %; 0: none yet
    double elapsed, budget; ///< seconds
    uint32_t done, total;   ///< classes
};

struct tune_options {
    const struct fovea_engine *engine; ///< made without a profile: its defaults are what must be beaten
    enum fovea_profile_level level;
    double budget;                     ///< seconds, hard; 0: the level's own
    double begun;                      ///< when they began, as tune_now has it; 0: now
    const struct fovea_profile *start; ///< NULL, or incumbents to begin with, and a quarantine to keep
    bool keep;                         ///< start is proved: its classes stay where there is no time for them
    const char *only;                  ///< NULL, or the classes whose "operator name" contains this: tune_classes_of
    const volatile sig_atomic_t *stop; ///< NULL, or becomes nonzero when it is to end now
    void (*tell)(void *arg, const struct tune_progress *progress); ///< NULL: nobody listens
    void *arg;
    double patience; ///< seconds of silence after which a candidate hangs, or of a second of its own work; 0: 5
    /// For tests: changes what a candidate would run, as a kernel that is wrong on this machine does.
    void (*tamper)(struct fovea_engine *engine, uint32_t class, const struct fovea_tuned *tuned);
};

/// One candidate, for the report.
struct tune_trial {
    uint32_t class, stage;
    struct fovea_tuned tuned;
    enum tune_verdict verdict;
    uint32_t cases; ///< it was verified on
    double gain;    ///< incumbent's time / its own, the median; 0: not timed
    uint32_t pairs;
    double at; ///< seconds after the start
};

struct tune_result {
    struct fovea_profile profile;
    struct tune_trial *trials; ///< to be freed
    size_t trial_count;
    double seconds;
    uint64_t pairs, disturbed;
    uint32_t classes, classes_done;
    uint32_t classes_left; ///< without a problem that there was the memory, and the time, for
    uint32_t failures;     ///< candidates and kernels that were wrong
    bool interrupted;
};

/// How many classes there are, of those that `only` asks for.
uint32_t tune_classes_of(const char *only);

/// Seconds a level takes unless told otherwise; infinite for exhaustive.
double tune_level_budget(enum fovea_profile_level level);

/// Tunes. Returns false only without memory; result is then empty. A profile of a run that was interrupted, or had time
/// for no class, has the level of what it began with.
bool tune_run(const struct tune_options *options, struct tune_result *result);
void tune_result_free(struct tune_result *result);

/// The best choice for one GEMM by trying everything (for the bench): races until `seconds` are over.
struct tune_shape;
bool tune_best(const struct fovea_engine *engine, const struct tune_shape *shape, double seconds,
               struct fovea_tuned *best);

#endif
