// SPDX-License-Identifier: Apache-2.0
// tune/proof.c - compares the result of a class's search with the default on more problems of the class: adopted, or
// not.
#include "tune/search.h"

#include <math.h>
#include <string.h>

static const double proof_gain = 0.015, proof_p = 0.01;

static uint32_t millionths(double value)
{
    return value < 0 ? 0 : value > 4000 ? 4000000000u : (uint32_t)(value * 1e6 + 0.5);
}

// Whether fresh pairs show the incumbent to be better than the default, and whether that is in doubt: the threshold is
// within the interval, or only one problem is against it.
static bool look(struct tune_search *s, struct tune_racer *chosen, uint32_t pairs, bool *doubt)
{
    double logs[TUNE_PAIRS_MAX];
    *doubt = false;
    if (!tune_pairs_of(s, chosen, pairs))
        return false;
    const double gain = tune_racer_median(chosen), p = tune_signed_rank(chosen->logs, chosen->pairs),
                 threshold = log(1 + proof_gain);
    memcpy(logs, chosen->logs, sizeof logs);
    const struct bench_interval interval = bench_bootstrap(logs, chosen->pairs);
    const bool better = gain >= threshold && p < proof_p, loses = tune_racer_loses(chosen, &s->track);
    *doubt = (interval.low < threshold && interval.high >= threshold) || (better && loses);
    s->evidence = (struct fovea_evidence){millionths(exp(gain)), millionths(exp(interval.low)),
                                          millionths(exp(interval.high)), millionths(p), chosen->pairs};
    return better && !loses;
}

bool tune_widens(const struct tune_search *s)
{
    return fovea_class(s->class).kind == FOVEA_TUNED_GEMM && s->track.count == s->effort->cases;
}

// Prepares the choice for more problems of its class than it was found with, because a single one says little about the
// others: level quick chose a kernel of AVX2 for 33 to 192 rows (1.03x), because 48 of them are then computed by 12x32;
// for 128 it was 0.44x. If it does not give the right bits there, returns false and ends it.
static bool widen(struct tune_search *s, struct tune_racer *chosen)
{
    if (!tune_widens(s))
        return true;
    const struct fovea_tuned tuned = chosen->tuned;
    tune_racer_end(chosen, &s->track);
    tune_cases_destroy(s->track.cases, s->track.count);
    s->track.count = tune_cases(s->engine, s->class, s->effort->proof_cases, &s->end, s->track.cases, NULL);
    if (s->track.count == 0 || !tune_racer_start(chosen, &s->track, s->engine, s->class, &tuned))
        return false;
    if (tune_is_right(s, chosen))
        return true;
    tune_racer_end(chosen, &s->track);
    return false;
}

// Measures fresh pairs with the default, and once more if these leave doubt.
static void put_to_proof(struct tune_search *s, struct tune_racer *chosen)
{
    bool doubt;
    tune_track_calibrate(&s->track, &s->incumbent);
    s->adopted = look(s, chosen, s->effort->proof_pairs, &doubt);
    s->refuted = !s->adopted && chosen->pairs == s->effort->proof_pairs;
    if (doubt && s->effort->close_pairs) {
        const bool better = look(s, chosen, s->effort->close_pairs, &doubt);
        s->adopted = chosen->pairs < s->effort->close_pairs ? s->adopted : better; // no time: the first result stands
        s->refuted = !s->adopted;
    }
}

void tune_prove(struct tune_search *s)
{
    struct tune_racer chosen = s->incumbent;
    if (s->effort->proof_pairs == 0)
        return;
    const struct fovea_tuned model = tune_default(s->engine, s->class, s->quarantine);
    s->refuted = fovea_tuned_same(&model, &chosen.tuned);
    const bool over = !s->refuted && tune_late(s, 0);
    s->undecided |= over;
    if (s->refuted || over)
        return;
    memset(&s->incumbent, 0, sizeof s->incumbent);
    const bool right = widen(s, &chosen);
    const bool ready = tune_start_default(s, &s->incumbent);
    if (!right || !ready) {
        s->undecided = true;
        s->incumbent = ready ? s->incumbent : chosen;
        return;
    }
    s->refuted = !tune_racer_differs(&chosen, &s->incumbent, &s->track);
    if (!s->refuted && !tune_over(&s->end))
        put_to_proof(s, &chosen);
    s->undecided |= !s->adopted && !fovea_tuned_same(&chosen.tuned, &s->incumbent.tuned);
    tune_racer_end(&s->incumbent, &s->track);
    s->incumbent = chosen;
}
