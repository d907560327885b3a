// SPDX-License-Identifier: Apache-2.0
// tune/verify.c - verifies candidates in a child; nothing is timed before it has been compared with the scalar path.
#include "tune/search.h"

#include <stdlib.h>
#include <string.h>

struct tune_trial *tune_note(struct tune_search *s, uint32_t stage, const struct fovea_tuned *tuned)
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
    *trial = (struct tune_trial){
        .class = s->class, .stage = stage, .tuned = *tuned, .at = tune_now() - s->start, .cases = s->track.count};
    return trial;
}

// Whether a candidate has given the right bits on these cases in an earlier round. It suffices to compare the number of
// cases, as they are always the first of their class.
static bool is_known(const struct tune_search *s, const struct fovea_tuned *tuned)
{
    for (size_t i = s->known_from; i < s->trial_count; i++)
        if (s->trials[i].class == s->class && s->trials[i].verdict == TUNE_SAME &&
            s->trials[i].cases >= s->track.count && fovea_tuned_same(&s->trials[i].tuned, tuned))
            return true;
    return false;
}

// The questions to a child: each racer on each case, on the first one in every way. Once a racer is wrong, in this
// child or in one before it, nothing more is asked of it.
struct questions {
    const struct tune_search *search;
    enum tune_verdict answers[TUNE_CANDIDATES_MAX * TUNE_CASES_MAX];
    bool wrong[TUNE_CANDIDATES_MAX];
};

static bool gives_scalar_bits(void *arg, uint32_t question)
{
    struct questions *const q = arg;
    const struct tune_search *const s = q->search;
    const uint32_t racer = question / s->track.count, c = question % s->track.count;
    for (uint32_t before = question - c; before < question; before++)
        q->wrong[racer] |= q->answers[before] >= TUNE_DIFFERS;
    if (q->wrong[racer] || is_known(s, &s->racers[racer].tuned))
        return true;
    const bool same = s->track.cases[c]->kind->verify(s->racers[racer].ready[c], c == 0);
    q->wrong[racer] = !same;
    return same;
}

void tune_drop(struct tune_search *s, uint32_t i)
{
    tune_racer_end(&s->racers[i], &s->track);
    s->count--;
    memmove(&s->racers[i], &s->racers[i + 1], (s->count - i) * sizeof *s->racers);
    memmove(&s->trial_of[i], &s->trial_of[i + 1], (s->count - i) * sizeof *s->trial_of);
}

// Variants that have given the right bits in this class are trusted from then on.
static void trust(struct tune_search *s, const struct tune_racer *racer)
{
    int32_t runs[TUNE_RUNS];
    for (uint32_t c = 0; c < s->track.count; c++) {
        s->track.cases[c]->kind->runs(racer->ready[c], runs);
        for (uint32_t i = 0; i < TUNE_RUNS; i++)
            if (runs[i] >= 0)
                s->trusted[runs[i]] = true;
    }
}

// What gave wrong bits is not used again: the first of the variants that compute this case which has not been right
// elsewhere in the class. If one of them is in quarantine already, that explains it.
static void blame(struct tune_search *s, const struct tune_racer *racer, uint32_t c, enum tune_verdict verdict)
{
    static const uint8_t why[] = {
        [TUNE_DIFFERS] = FOVEA_DIFFERS, [TUNE_CRASHES] = FOVEA_CRASHES, [TUNE_HANGS] = FOVEA_HANGS};
    int32_t runs[TUNE_RUNS], guilty = -1;
    s->failures++;
    s->track.cases[c]->kind->runs(racer->ready[c], runs);
    for (uint32_t i = TUNE_RUNS; i-- > 0;) {
        if (runs[i] >= 0 && s->quarantine[runs[i]])
            return;
        if (runs[i] >= 0 && !s->trusted[runs[i]] && fovea_variant_facts[runs[i]].required != 0)
            guilty = runs[i];
    }
    if (guilty >= 0) {
        s->quarantine[guilty] = why[verdict];
        s->banned = true;
    }
}

// Asks about the first `count` racers, and blames what is wrong. verdicts[i]: TUNE_SAME if racer i is right on all
// cases.
static void ask(struct tune_search *s, uint32_t count, enum tune_verdict *verdicts)
{
    struct questions q = {.search = s};
    s->patience.until = s->end.deadline; // rather than the class's deadline: a hanging candidate must be detected
    tune_ask(count * s->track.count, gives_scalar_bits, &q, &s->patience, s->end.stop, q.answers);
    for (uint32_t i = 0; i < count; i++) {
        verdicts[i] = TUNE_SAME;
        for (uint32_t c = 0; c < s->track.count && verdicts[i] == TUNE_SAME; c++) {
            verdicts[i] = q.answers[i * s->track.count + c];
            if (verdicts[i] >= TUNE_DIFFERS)
                blame(s, &s->racers[i], c, verdicts[i]);
        }
    }
}

void tune_verify(struct tune_search *s)
{
    enum tune_verdict verdicts[TUNE_CANDIDATES_MAX];
    ask(s, s->count, verdicts);
    for (uint32_t i = s->count; i-- > 0;) {
        if (s->trial_of[i] < s->trial_count)
            s->trials[s->trial_of[i]].verdict = verdicts[i];
        if (verdicts[i] != TUNE_SAME)
            tune_drop(s, i);
    }
}

bool tune_is_right(struct tune_search *s, struct tune_racer *racer)
{
    enum tune_verdict verdict = TUNE_SAME;
    if (s->tamper)
        s->tamper(racer->engine, s->class, &racer->tuned);
    if (!is_known(s, &racer->tuned)) {
        s->racers[0] = *racer;
        ask(s, 1, &verdict);
        struct tune_trial *const trial = tune_note(s, 0, &racer->tuned);
        if (trial)
            trial->verdict = verdict;
    }
    if (verdict == TUNE_SAME)
        trust(s, racer);
    return verdict == TUNE_SAME;
}

bool tune_start_default(struct tune_search *s, struct tune_racer *racer)
{
    uint8_t before[FOVEA_VARIANTS];
    struct fovea_tuned model;
    memcpy(before, s->quarantine, sizeof before);
    do {
        model = tune_default(s->engine, s->class, s->quarantine);
        if (!tune_racer_start(racer, &s->track, s->engine, s->class, &model))
            return false;
        if (tune_is_right(s, racer))
            return true;
        tune_racer_end(racer, &s->track);
    } while (model.kernel >= 0 && s->quarantine[model.kernel]);
    if (model.kernel >= 0 && fovea_variant_facts[model.kernel].required == 0) {
        memcpy(s->quarantine, before, sizeof before); // with none it is right, so it is not they that are wrong
        s->banned = false;
    }
    return false;
}
