// SPDX-License-Identifier: Apache-2.0
// tune/search.h - the state of a search through one class after another.
#ifndef FOVEA_TUNE_SEARCH_H
#define FOVEA_TUNE_SEARCH_H

#include "tune/measure.h"
#include "tune/tune.h"

/// The effort of a level.
struct tune_effort {
    uint32_t cases;       ///< cases of a class
    uint32_t candidates;  ///< candidates of a stage
    uint32_t race_pairs;  ///< pairs per racer and case before another half is dropped
    uint32_t stage_pairs; ///< fresh pairs for the best of a stage
    uint32_t proof_cases; ///< cases of a class for the proof against the default
    uint32_t proof_pairs; ///< fresh pairs for the proof
    uint32_t close_pairs; ///< fresh pairs if the proof left the threshold in doubt; 0: none, what it found stands
    uint32_t passes;      ///< through all stages
    bool again;           ///< while there is time, all classes are searched again, starting from what was found
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
    /// NULL, or what reports progress.
    void (*tell)(struct tune_search *search, uint32_t stage, double best);
    void (*tamper)(struct fovea_engine *engine, uint32_t class, const struct fovea_tuned *tuned);
    void *owner;
    uint8_t quarantine[FOVEA_VARIANTS]; ///< values of enum fovea_quarantine
    bool banned;                        ///< something was put there since the engine was made
    uint32_t failures;                  ///< candidates with wrong bits
    struct tune_trial *trials;
    size_t trial_count, trial_room;
    size_t known_from; ///< trials from here on were verified on the current cases
    // of the class that is searched
    uint32_t class;
    struct tune_track track;
    struct tune_racer incumbent, *racers; ///< TUNE_CANDIDATES_MAX
    size_t trial_of[TUNE_CANDIDATES_MAX];
    uint32_t count;
    bool trusted[FOVEA_VARIANTS]; ///< variants of incumbents of this class, which are right: others are blamed
    double reserve;               ///< seconds that the proof will take
    // what came out
    struct fovea_tuned best;
    bool searched;  ///< the default, or what it had, gave the right bits, so that the search had a start
    bool adopted;   ///< best is proved to beat the default
    bool undecided; ///< some pairs lacked calm or time, or best is not proved: worth another round
    bool refuted;   ///< nothing is better than the default: another round starts from that
    struct fovea_evidence evidence;
};

/// Records a candidate for the report; NULL if there is no memory.
struct tune_trial *tune_note(struct tune_search *s, uint32_t stage, const struct fovea_tuned *tuned);
/// Ends racer i; those after it move up.
void tune_drop(struct tune_search *s, uint32_t i);
/// Drops the racers that do not give the scalar path's bits, and puts what they ran into quarantine.
void tune_verify(struct tune_search *s);
/// The variants of an incumbent are not blamed from now on.
void tune_trust(struct tune_search *s, const struct tune_racer *racer);
/// Whether a choice gives these bits, and is trusted; if not, the same as above.
bool tune_is_right(struct tune_search *s, struct tune_racer *racer);
/// The default that gives the right bits: with the best kernel of the slot that does. False if none does.
bool tune_start_default(struct tune_search *s, struct tune_racer *racer);

/// Whether the time of the class, or of the search, is over in `spare` seconds, or stopping was requested.
bool tune_late(const struct tune_search *s, double spare);
/// Measures fresh pairs with the incumbent until enough of them count. False if time or calm do not suffice; the class
/// is then undecided.
bool tune_pairs_of(struct tune_search *s, struct tune_racer *racer, uint32_t wanted);

/// Whether a class has more problems than candidates are timed on.
bool tune_widens(const struct tune_search *s);
/// Compares the incumbent with the default, which would be used without it: adopted, refuted, or undecided.
void tune_prove(struct tune_search *s);

/// Searches s->class on s->track's cases, starting from `from` or (NULL) the default. proved: `from` was adopted
/// before, and need not be proved again if nothing better is found. False if not even the start is right. s->best stays
/// what it was where nothing could be verified.
bool tune_search_class(struct tune_search *s, const struct fovea_tuned *from, bool proved);

#endif
