// SPDX-License-Identifier: Apache-2.0
// tune/search.c - one class: stages, and successive halving in each.
#include "tune/search.h"

#include <math.h>
#include <string.h>

const struct tune_effort tune_efforts[FOVEA_LEVELS] = {
    [FOVEA_LEVEL_ESTIMATE] = {0},
    [FOVEA_LEVEL_QUICK] = {.cases = 1,
                           .candidates = 8,
                           .race_pairs = 1,
                           .stage_pairs = 5,
                           .proof_cases = 4,
                           .proof_pairs = 9,
                           .passes = 1,
                           .patience = 0.003},
    [FOVEA_LEVEL_INSTALL] = {.cases = 4,
                             .candidates = 40,
                             .race_pairs = 2,
                             .stage_pairs = 7,
                             .proof_cases = TUNE_CASES_MAX,
                             .proof_pairs = 15,
                             .close_pairs = 31,
                             .passes = 1,
                             .again = true,
                             .patience = 0.02},
    [FOVEA_LEVEL_EXHAUSTIVE] = {.cases = 6,
                                .candidates = TUNE_CANDIDATES_MAX,
                                .race_pairs = 5,
                                .stage_pairs = 15,
                                .proof_cases = TUNE_CASES_MAX,
                                .proof_pairs = 31,
                                .close_pairs = 63,
                                .passes = 2,
                                .again = true,
                                .patience = 0.02},
};

// Limits for a candidate to replace the incumbent of a stage; the proof against the default is stricter (tune/proof.c).
static const double stage_gain = 0.005, stage_p = 0.05;

bool tune_late(const struct tune_search *s, double spare)
{
    const double now = tune_now();
    return tune_stopped(&s->end) || now + spare >= s->end.deadline || now + spare >= s->class_deadline;
}

bool tune_pairs_of(struct tune_search *s, struct tune_racer *racer, uint32_t wanted)
{
    enum { PATIENCE = 12 };
    tune_racer_rest(racer);
    const double each = tune_pair_seconds(&s->track, racer);
    for (uint32_t tries = 0; racer->pairs < wanted && tries < PATIENCE * wanted && !tune_late(s, each); tries++)
        tune_pair(&s->track, &s->incumbent, racer, false);
    s->undecided |= racer->pairs < wanted;
    return racer->pairs >= wanted;
}

static void note_time(struct tune_search *s, size_t trial, const struct tune_racer *racer)
{
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < s->track.count; i++)
        pairs = racer->case_pairs[i] > pairs ? racer->case_pairs[i] : pairs;
    if (trial < s->trial_count && pairs) {
        s->trials[trial].gain = exp(tune_racer_mean(racer, &s->track));
        s->trials[trial].pairs = pairs;
    }
}

static bool same_as_another(const struct tune_search *s, struct tune_racer *racer)
{
    struct tune_racer copy = *racer;
    for (uint32_t i = 0; i < s->count; i++)
        if (!tune_racer_differs(&copy, &s->racers[i], &s->track))
            return true;
    return false;
}

// Prepares the candidates of a stage whose plans differ from the incumbent's and from each other's.
static void enter(struct tune_search *s, uint32_t stage)
{
    struct fovea_tuned candidates[TUNE_CANDIDATES_MAX];
    const uint32_t found =
        tune_space(s->engine, s->class, stage, &s->incumbent.tuned, s->quarantine, s->l2, candidates);
    for (uint32_t i = 0; i < found && s->count < s->effort->candidates && !tune_late(s, 0); i++) {
        struct tune_racer *const racer = &s->racers[s->count];
        if (!tune_racer_start(racer, &s->track, s->engine, s->class, &candidates[i]))
            continue;
        if (s->tamper)
            s->tamper(racer->engine, s->class, &racer->tuned);
        if (!tune_racer_differs(racer, &s->incumbent, &s->track) || same_as_another(s, racer)) {
            tune_racer_end(racer, &s->track);
            continue;
        }
        s->trial_of[s->count] = tune_note(s, stage, &candidates[i]) ? s->trial_count - 1 : SIZE_MAX;
        s->count++;
    }
}

// Measures a pair for each racer on one of the cases that it affects, then on the next one, until all cases are done.
static void race(struct tune_search *s)
{
    for (uint32_t c = 0; c < s->track.count; c++)
        for (uint32_t i = 0; i < s->count; i++)
            if (c < tune_racer_affected(&s->racers[i], &s->track) && !tune_late(s, s->reserve))
                tune_pair(&s->track, &s->incumbent, &s->racers[i], true);
}

static void tell(struct tune_search *s, uint32_t stage)
{
    double best = 0;
    for (uint32_t i = 0; i < s->count; i++)
        best = fmax(best, exp(tune_racer_mean(&s->racers[i], &s->track)));
    if (s->tell)
        s->tell(s, stage, best);
}

static void lose(struct tune_search *s, uint32_t i)
{
    note_time(s, s->trial_of[i], &s->racers[i]);
    tune_drop(s, i);
}

// Drops the half of the racers of least value, and all that are clearly slower than the incumbent (by 10 %: next to
// other programs two pairs differ by as much); the last one if it has no value at all.
static void halve(struct tune_search *s)
{
    for (uint32_t i = s->count; i-- > 0;)
        if (tune_racer_mean(&s->racers[i], &s->track) < log(0.9))
            lose(s, i);
    for (uint32_t keep = (s->count + 1) / 2; s->count > keep;) {
        uint32_t least = 0;
        for (uint32_t i = 1; i < s->count; i++)
            if (tune_racer_worth(&s->racers[i], &s->track) < tune_racer_worth(&s->racers[least], &s->track))
                least = i;
        lose(s, least);
    }
    if (s->count == 1 && tune_racer_worth(&s->racers[0], &s->track) <= 0)
        lose(s, 0);
}

// Whether the best of a stage is faster than the incumbent in fresh pairs. doubt: it may be, but there were too few
// pairs.
static bool beats(struct tune_search *s, struct tune_racer *best, uint32_t pairs, bool *doubt)
{
    *doubt = false;
    if (!tune_pairs_of(s, best, pairs))
        return false;
    note_time(s, s->trial_of[0], best);
    const bool gains = tune_racer_median(best) >= stage_gain;
    const bool wins =
        gains && tune_signed_rank(best->logs, best->pairs) < stage_p && !tune_racer_loses(best, &s->track);
    *doubt = gains && !wins;
    return wins;
}

// Runs one stage; a faster candidate replaces the incumbent.
static void run_stage(struct tune_search *s, uint32_t stage)
{
    s->count = 0;
    enter(s, stage);
    tune_verify(s);
    if (s->count > 0)
        tell(s, stage);
    while (s->count > 0) {
        for (uint32_t i = 0; i < s->effort->race_pairs; i++)
            race(s);
        tell(s, stage);
        halve(s);
        if (s->count <= 1 || tune_late(s, s->reserve))
            break;
    }
    struct tune_racer *const best = &s->racers[0];
    bool doubt = false;
    bool wins = s->count == 1 && beats(s, best, s->effort->stage_pairs, &doubt);
    if (doubt && s->effort->close_pairs)
        wins = beats(s, best, 2 * s->effort->stage_pairs + 1, &doubt);
    if (wins) {
        tune_racer_end(&s->incumbent, &s->track);
        s->incumbent = *best;
        tune_trust(s, &s->incumbent);
        s->count = 0;
    }
    while (s->count > 0)
        tune_drop(s, s->count - 1);
}

// Whether an initial choice takes more than twice as long as the default, once, on the problem where the default is
// fastest: each pair with it would waste time (the scalar kernel in place of AVX2: 60 s for two classes).
static bool is_hopeless(struct tune_search *s, struct tune_racer *from)
{
    const struct fovea_tuned model = tune_default(s->engine, s->class, s->quarantine);
    struct tune_racer usual;
    double least = INFINITY;
    uint32_t shortest = 0;
    if (fovea_tuned_same(&model, &from->tuned) || !tune_racer_start(&usual, &s->track, s->engine, s->class, &model))
        return false;
    const bool right = tune_is_right(s, &usual) && !tune_over(&s->end);
    for (uint32_t i = 0; i < s->track.count && right; i++) {
        const struct tune_case_kind *const kind = s->track.cases[i]->kind;
        const double seconds = fmin(kind->seconds(usual.ready[i], 1, false), kind->seconds(usual.ready[i], 1, false));
        shortest = seconds < least ? i : shortest;
        least = fmin(least, seconds);
    }
    tune_racer_end(&usual, &s->track);
    return right && s->track.cases[shortest]->kind->seconds(from->ready[shortest], 1, false) > 2 * least + 1e-5;
}

// The initial incumbent: the given choice, if it is right and not hopeless; otherwise the default.
static bool begin(struct tune_search *s, const struct fovea_tuned *from)
{
    memset(s->trusted, 0, sizeof s->trusted);
    if (from && (from->kernel < 0 || !s->quarantine[from->kernel]) &&
        tune_racer_start(&s->incumbent, &s->track, s->engine, s->class, from)) {
        if (tune_is_right(s, &s->incumbent) && !is_hopeless(s, &s->incumbent))
            return true;
        tune_racer_end(&s->incumbent, &s->track);
    }
    return tune_start_default(s, &s->incumbent);
}

bool tune_search_class(struct tune_search *s, const struct fovea_tuned *from, bool proved)
{
    s->adopted = s->undecided = s->refuted = false;
    s->count = 0;
    s->reserve = 0;
    if (!begin(s, from)) {
        s->undecided = s->banned; // an engine without what is wrong may be right
        return false;
    }
    for (uint32_t i = 0; i < s->track.count; i++)
        s->incumbent.affected[i] = true;
    if (!tune_over(&s->end)) // otherwise there is no time for a pair
        tune_track_calibrate(&s->track, &s->incumbent);
    const double more = tune_widens(s) ? s->effort->proof_cases / (double)s->track.count : 1;
    s->reserve = proved ? 0
                        : fmin(s->effort->proof_pairs * 1.3 * more * tune_pair_seconds(&s->track, &s->incumbent),
                               0.5 * (fmin(s->class_deadline, s->end.deadline) - tune_now()));
    const uint32_t stages = tune_stages(s->class);
    for (uint32_t pass = 0; pass < s->effort->passes; pass++)
        for (uint32_t stage = 0; stage < stages && !tune_late(s, s->reserve); stage++)
            run_stage(s, stage);
    s->undecided |= tune_late(s, s->reserve);
    s->class_deadline = INFINITY; // the proof is only limited by the end of the whole search
    if (!proved || !fovea_tuned_same(&s->incumbent.tuned, from))
        tune_prove(s);
    if (s->incumbent.engine) // otherwise no child could be started to verify what the proof compares
        s->best = s->incumbent.tuned;
    tune_racer_end(&s->incumbent, &s->track);
    return true;
}
