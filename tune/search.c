// SPDX-License-Identifier: Apache-2.0
// tune/search.c - one class: stages, successive halving, proof.
#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct tune_effort tune_efforts[FOVEA_LEVELS] = {
    [FOVEA_LEVEL_ESTIMATE] = {0},
    [FOVEA_LEVEL_QUICK] = {1, 8, 1, 5, 9, 1, 0.003},
    [FOVEA_LEVEL_INSTALL] = {3, 32, 3, 7, 15, 1, 0.02},
    [FOVEA_LEVEL_EXHAUSTIVE] = {4, TUNE_CANDIDATES_MAX, 5, 15, 31, 2, 0.02},
};

// A candidate replaces the incumbent of a stage; the proof against the default is stricter.
static const double stage_gain = 0.005, stage_p = 0.05;
static const double proof_gain = 0.015, proof_p = 0.01;
// On no case of its class may it lose this much, as far as the pairs tell.
static const double case_loss = 0.01, case_p = 0.1;

static bool late(const struct tune_search *s, double spare)
{
    const double now = tune_now();
    return (s->stop && *s->stop) || now + spare >= s->deadline || now + spare >= s->class_deadline;
}

static struct tune_trial *note(struct tune_search *s, uint32_t stage, const struct fovea_tuned *tuned)
{
    if (s->trial_count == s->trial_room) {
        const size_t room = s->trial_room ? 2 * s->trial_room : 256;
        struct tune_trial *const more = realloc(s->trials, room * sizeof *more);
        if (!more)
            return NULL;
        s->trials = more;
        s->trial_room = room;
    }
    struct tune_trial *const trial = &s->trials[s->trial_count++];
    *trial = (struct tune_trial){.class = s->class, .stage = stage, .tuned = *tuned, .at = tune_now() - s->start};
    return trial;
}

static void note_time(struct tune_search *s, size_t trial, const struct tune_racer *racer)
{
    if (trial < s->trial_count && racer->pairs) {
        s->trials[trial].gain = exp(tune_racer_median(racer));
        s->trials[trial].pairs = racer->pairs;
    }
}

// What the child is asked: racer i on every case, on the first one in every way.
static bool gives_scalar_bits(void *arg, uint32_t i)
{
    const struct tune_search *const s = arg;
    bool same = true;
    for (uint32_t c = 0; c < s->track.count && same; c++)
        same = s->track.cases[c]->kind->verify(s->racers[i].ready[c], c == 0);
    return same;
}

static void drop(struct tune_search *s, uint32_t i)
{
    tune_racer_end(&s->racers[i], &s->track);
    s->count--;
    memmove(&s->racers[i], &s->racers[i + 1], (s->count - i) * sizeof *s->racers);
    memmove(&s->trial_of[i], &s->trial_of[i + 1], (s->count - i) * sizeof *s->trial_of);
}

// A kernel with which a candidate was wrong is not used again, unless it is the one that everything has been right
// with.
static void blame(struct tune_search *s, const struct fovea_tuned *tuned, enum tune_verdict verdict)
{
    static const uint8_t why[] = {
        [TUNE_DIFFERS] = FOVEA_DIFFERS, [TUNE_CRASHES] = FOVEA_CRASHES, [TUNE_HANGS] = FOVEA_HANGS};
    s->failures++;
    if (tuned->kernel >= 0 && tuned->kernel != s->trusted && fovea_variant_facts[tuned->kernel].required != 0)
        s->quarantine[tuned->kernel] = why[verdict];
}

static void verify(struct tune_search *s)
{
    enum tune_verdict verdicts[TUNE_CANDIDATES_MAX];
    int signals[TUNE_CANDIDATES_MAX];
    const double left = fmin(s->deadline, s->class_deadline) - tune_now();
    const double patience = fmax(0.25, fmin(s->patience, left));
    tune_ask(s->count, gives_scalar_bits, s, patience, verdicts, signals);
    for (uint32_t i = s->count; i-- > 0;) {
        if (verdicts[i] == TUNE_HANGS && patience < s->patience)
            verdicts[i] = TUNE_UNKNOWN; // the time was over, no more
        if (s->trial_of[i] < s->trial_count)
            s->trials[s->trial_of[i]].verdict = verdicts[i];
        if (verdicts[i] != TUNE_SAME) {
            if (verdicts[i] != TUNE_UNKNOWN)
                blame(s, &s->racers[i].tuned, verdicts[i]);
            drop(s, i);
        }
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

// Makes the candidates of a stage ready that plan something else than the incumbent and one another.
static void enter(struct tune_search *s, uint32_t stage)
{
    struct fovea_tuned candidates[TUNE_CANDIDATES_MAX];
    const uint32_t found = tune_space(s->engine, s->class, stage, &s->incumbent.tuned, s->quarantine, candidates);
    for (uint32_t i = 0; i < found && s->count < s->effort->candidates && !late(s, 0); i++) {
        struct tune_racer *const racer = &s->racers[s->count];
        if (!tune_racer_start(racer, &s->track, s->engine, s->class, &candidates[i]))
            continue;
        if (s->tamper)
            s->tamper(racer->engine, s->class, &racer->tuned);
        if (!tune_racer_differs(racer, &s->incumbent, &s->track) || same_as_another(s, racer)) {
            tune_racer_end(racer, &s->track);
            continue;
        }
        s->trial_of[s->count] = note(s, stage, &candidates[i]) ? s->trial_count - 1 : SIZE_MAX;
        s->count++;
    }
}

// A pair that counts, on one of the cases, if three attempts give one.
static void measure(struct tune_search *s, struct tune_racer *racer)
{
    for (int attempt = 0; attempt < 3 && !late(s, s->reserve); attempt++)
        if (tune_pair(&s->track, &s->incumbent, racer, true))
            return;
}

static void tell(struct tune_search *s, uint32_t stage)
{
    double best = 0;
    for (uint32_t i = 0; i < s->count; i++)
        best = fmax(best, exp(tune_racer_median(&s->racers[i])));
    s->tell(s, stage, best);
}

static void lose(struct tune_search *s, uint32_t i)
{
    note_time(s, s->trial_of[i], &s->racers[i]);
    drop(s, i);
}

// The slower half goes, and whoever is clearly slower than the incumbent; the last one if it is slower at all.
static void halve(struct tune_search *s)
{
    for (uint32_t i = s->count; i-- > 0;)
        if (tune_racer_median(&s->racers[i]) < log(0.97))
            lose(s, i);
    for (uint32_t keep = (s->count + 1) / 2; s->count > keep;) {
        uint32_t slowest = 0;
        for (uint32_t i = 1; i < s->count; i++)
            if (tune_racer_median(&s->racers[i]) < tune_racer_median(&s->racers[slowest]))
                slowest = i;
        lose(s, slowest);
    }
    if (s->count == 1 && tune_racer_median(&s->racers[0]) <= 0)
        lose(s, 0);
}

// Fresh pairs with the incumbent, as many as count; false where the time or the calm does not suffice, and then the
// class is undecided.
static bool pairs_of(struct tune_search *s, struct tune_racer *racer, uint32_t wanted)
{
    enum { PATIENCE = 12 };
    racer->pairs = 0;
    const double each = tune_pair_seconds(&s->track, racer);
    for (uint32_t tries = 0; racer->pairs < wanted && tries < PATIENCE * wanted && !late(s, each); tries++)
        tune_pair(&s->track, &s->incumbent, racer, false);
    s->undecided |= racer->pairs < wanted;
    return racer->pairs >= wanted;
}

// One stage; the incumbent is replaced where a candidate is faster.
static void run_stage(struct tune_search *s, uint32_t stage)
{
    s->count = 0;
    enter(s, stage);
    verify(s);
    tell(s, stage);
    for (uint32_t rounds = s->effort->first_pairs; s->count > 0; rounds *= 2) {
        for (uint32_t round = 0; round < rounds; round++)
            for (uint32_t i = 0; i < s->count; i++)
                measure(s, &s->racers[i]);
        tell(s, stage);
        halve(s);
        if (s->count <= 1 || late(s, s->reserve))
            break;
    }
    struct tune_racer *const best = &s->racers[0];
    if (s->count == 1 && best->pairs && pairs_of(s, best, s->effort->stage_pairs)) {
        note_time(s, s->trial_of[0], best);
        if (tune_racer_median(best) >= stage_gain && tune_signed_rank(best->logs, best->pairs) < stage_p) {
            tune_racer_end(&s->incumbent, &s->track);
            s->incumbent = *best;
            s->count = 0;
        }
    }
    while (s->count > 0)
        drop(s, s->count - 1);
}

static uint32_t millionths(double value)
{
    return value < 0 ? 0 : value > 4000 ? 4000000000u : (uint32_t)(value * 1e6 + 0.5);
}

// Whether a choice gives the scalar path's bits; it is blamed where it does not.
static bool is_right(struct tune_search *s, struct tune_racer *racer)
{
    enum tune_verdict verdict;
    int number;
    if (s->tamper)
        s->tamper(racer->engine, s->class, &racer->tuned);
    s->racers[0] = *racer;
    tune_ask(1, gives_scalar_bits, s, s->patience, &verdict, &number);
    if (verdict != TUNE_SAME && verdict != TUNE_UNKNOWN)
        blame(s, &racer->tuned, verdict);
    return verdict == TUNE_SAME;
}

// The default that is right: with the best kernel of the slot that is.
static bool start_default(struct tune_search *s, struct tune_racer *racer)
{
    for (;;) {
        const struct fovea_tuned model = tune_default(s->engine, s->class, s->quarantine);
        if (!tune_racer_start(racer, &s->track, s->engine, s->class, &model))
            return false;
        if (is_right(s, racer))
            return true;
        tune_racer_end(racer, &s->track);
        if (model.kernel < 0 || !s->quarantine[model.kernel])
            return false;
    }
}

// The incumbent against the default, which is what would be used without it.
static void prove(struct tune_search *s)
{
    struct tune_racer chosen = s->incumbent;
    double logs[TUNE_PAIRS_MAX];
    if (s->effort->proof_pairs == 0 || !start_default(s, &s->incumbent)) {
        s->incumbent = chosen;
        return;
    }
    if (tune_racer_differs(&chosen, &s->incumbent, &s->track) && pairs_of(s, &chosen, s->effort->proof_pairs)) {
        const double gain = tune_racer_median(&chosen), p = tune_signed_rank(chosen.logs, chosen.pairs);
        if (gain >= log(1 + proof_gain) && p < proof_p && !tune_racer_loses(&chosen, &s->track, case_loss, case_p)) {
            memcpy(logs, chosen.logs, sizeof logs);
            const struct bench_interval interval = bench_bootstrap(logs, chosen.pairs);
            s->adopted = true;
            s->evidence = (struct fovea_evidence){millionths(exp(gain)), millionths(exp(interval.low)),
                                                  millionths(exp(interval.high)), millionths(p), chosen.pairs};
        }
    }
    s->undecided |= !s->adopted && !fovea_tuned_same(&chosen.tuned, &s->incumbent.tuned);
    tune_racer_end(&s->incumbent, &s->track);
    s->incumbent = chosen;
}

// The incumbent to begin with: what is given, if it is right; else the default.
static bool begin(struct tune_search *s, const struct fovea_tuned *from)
{
    s->trusted = -1;
    if (from && (from->kernel < 0 || !s->quarantine[from->kernel]) &&
        tune_racer_start(&s->incumbent, &s->track, s->engine, s->class, from)) {
        if (is_right(s, &s->incumbent))
            return true;
        tune_racer_end(&s->incumbent, &s->track);
    }
    return start_default(s, &s->incumbent);
}

bool tune_search_class(struct tune_search *s, const struct fovea_tuned *from)
{
    s->adopted = s->undecided = false;
    s->count = 0;
    s->reserve = 0;
    if (!begin(s, from))
        return false;
    s->trusted = s->incumbent.tuned.kernel;
    for (uint32_t i = 0; i < s->track.count; i++)
        s->incumbent.affected[i] = true;
    tune_track_calibrate(&s->track, &s->incumbent);
    s->reserve = s->effort->proof_pairs * 1.3 * tune_pair_seconds(&s->track, &s->incumbent);
    const uint32_t stages = tune_stages(s->class);
    for (uint32_t pass = 0; pass < s->effort->passes; pass++)
        for (uint32_t stage = 0; stage < stages && !late(s, s->reserve); stage++)
            run_stage(s, stage);
    s->undecided |= late(s, s->reserve);
    s->class_deadline = INFINITY; // the proof has its time, but for the end of all
    prove(s);
    s->best = s->incumbent.tuned;
    tune_racer_end(&s->incumbent, &s->track);
    return true;
}
