// SPDX-License-Identifier: Apache-2.0
// tune/search.h - the state of a search through one class after another.
#ifndef FOVEA_TUNE_SEARCH_H
#define FOVEA_TUNE_SEARCH_H

#include "tune/measure.h"
#include "tune/tune.h"

/// How hard a level tries.
struct tune_effort {
    uint32_t cases;       ///< of a class
    uint32_t candidates;  ///< of a stage
    uint32_t race_pairs;  ///< for each on each case, before another half goes
    uint32_t stage_pairs; ///< fresh ones, for the best of a stage
    uint32_t proof_cases; ///< of a class, where what was found there is put against the default
    uint32_t proof_pairs; ///< fresh ones, for that
    uint32_t close_pairs; ///< fresh ones, where those left the threshold in doubt; 0: they count
    uint32_t passes;      ///< through all stages
    bool again;           ///< while there is time, all classes are searched once more, from what was found
    double patience;      ///< see struct tune_track
};
extern const struct tune_effort tune_efforts[FOVEA_LEVELS];

struct tune_search {
    const struct fovea_engine *engine;
    const struct tune_effort *effort;
    double start, class_deadline; ///< in tune_now's seconds
    struct tune_end end;
    struct tune_patience patience;
    size_t l2; ///< bytes that really stay in L2, or 0
    void (*tell)(struct tune_search *search, uint32_t stage, double best);
    void (*tamper)(struct fovea_engine *engine, uint32_t class, const struct fovea_tuned *tuned);
    void *owner;
    uint8_t quarantine[FOVEA_VARIANTS]; ///< of enum fovea_quarantine
    uint32_t failures;                  ///< candidates that were wrong
    struct tune_trial *trials;
    size_t trial_count, trial_room;
    size_t known_from; ///< trials from here on were verified on the same cases as now
    // of the class that is searched
    uint32_t class;
    struct tune_track track;
    struct tune_racer incumbent, *racers; ///< TUNE_CANDIDATES_MAX
    size_t trial_of[TUNE_CANDIDATES_MAX];
    uint32_t count;
    int32_t trusted; ///< a kernel that has been right in this class: what goes wrong with it is not its fault; -1: none
    double reserve;  ///< seconds that the proof will take
    // what came out
    struct fovea_tuned best;
    bool adopted;   ///< best is proved to beat the default
    bool undecided; ///< there was not enough calm or time for some pairs, or best is not proved: worth another round
    bool refuted;   ///< nothing is better than the default: another round begins with that
    struct fovea_evidence evidence;
};

/// Remembers a candidate for the report; NULL without memory.
struct tune_trial *tune_note(struct tune_search *s, uint32_t stage, const struct fovea_tuned *tuned);
/// Ends racer i; those behind it move up.
void tune_drop(struct tune_search *s, uint32_t i);
/// Drops the racers that do not give the scalar path's bits, and blames their kernels.
void tune_verify(struct tune_search *s);
/// Whether a choice gives them; it is blamed where it does not.
bool tune_is_right(struct tune_search *s, struct tune_racer *racer);
/// The default that is right: with the best kernel of the slot that is. False where none is.
bool tune_start_default(struct tune_search *s, struct tune_racer *racer);

/// Whether the time of the class, or all of it, is over in `spare` seconds, or an end was asked for.
bool tune_late(const struct tune_search *s, double spare);
/// Fresh pairs with the incumbent, as many as count; false where the time or the calm does not suffice, and then the
/// class is undecided.
bool tune_pairs_of(struct tune_search *s, struct tune_racer *racer, uint32_t wanted);
/// Whether it is slower than the incumbent on a problem of its class by more than may be.
bool tune_loses(const struct tune_search *s, const struct tune_racer *racer);

/// Whether a class has more problems than candidates are raced on.
bool tune_widens(const struct tune_search *s);
/// The incumbent against the default, which is what would be used without it: adopted, refuted, or undecided.
void tune_prove(struct tune_search *s);

/// Searches s->class on s->track's cases, from `from` or (NULL) the default. proved: `from` was adopted before, and
/// need not be proved again if nothing better is found. False where not even the beginning is right.
bool tune_search_class(struct tune_search *s, const struct fovea_tuned *from, bool proved);

#endif
