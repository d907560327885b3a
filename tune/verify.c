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

// The questions to a child: each racer on each case, on the first one also task by task, and then over operands that
// begin within a line. After an answer that is not "right", or that did not come, nothing more is asked of that racer.
enum { WAYS = 2, QUESTIONS = TUNE_CANDIDATES_MAX * TUNE_CASES_MAX * WAYS };
struct questions {
    const struct tune_search *search;
    enum tune_verdict answers[QUESTIONS];
    uint32_t first; // of this child; those before it were asked of others
    bool over[TUNE_CANDIDATES_MAX];
};

static bool gives_scalar_bits(void *arg, uint32_t question)
{
    struct questions *const q = arg;
    const struct tune_search *const s = q->search;
    const uint32_t each = s->track.count * WAYS, racer = question / each, c = question % each / WAYS;
    const bool within = question % WAYS != 0;
    q->first = question < q->first ? question : q->first;
    for (uint32_t before = racer * each; before < q->first && before < question; before++)
        q->over[racer] |= q->answers[before] != TUNE_SAME;
    if (q->over[racer] || is_known(s, &s->racers[racer].tuned))
        return true;
    const bool same = s->track.cases[c]->kind->verify(s->racers[racer].ready[c], within   ? TUNE_WITHIN
                                                                                 : c == 0 ? TUNE_TASKS
                                                                                          : TUNE_WHOLE);
    q->over[racer] = !same;
    return same;
}

void tune_drop(struct tune_search *s, uint32_t i)
{
    tune_racer_end(&s->racers[i], &s->track);
    s->count--;
    memmove(&s->racers[i], &s->racers[i + 1], (s->count - i) * sizeof *s->racers);
    memmove(&s->trial_of[i], &s->trial_of[i + 1], (s->count - i) * sizeof *s->trial_of);
}

// Variants that compute the first `count` cases of a racer, which is right there.
static void trust(const struct tune_search *s, const struct tune_racer *racer, uint32_t count, bool *trusted)
{
    int32_t runs[TUNE_RUNS];
    for (uint32_t c = 0; c < count; c++) {
        s->track.cases[c]->kind->runs(racer->ready[c], runs);
        for (uint32_t i = 0; i < TUNE_RUNS; i++)
            if (runs[i] >= 0)
                trusted[runs[i]] = true;
    }
}

void tune_trust(struct tune_search *s, const struct tune_racer *racer)
{
    trust(s, racer, s->track.count, s->trusted);
}

// What gave wrong bits in case c is not used again: of the variants that compute it, the first one that has not been
// right before, in an earlier case or in an incumbent. One that is in quarantine already explains it.
static void blame(struct tune_search *s, const struct tune_racer *racer, uint32_t c, enum tune_verdict verdict)
{
    static const uint8_t why[] = {
        [TUNE_DIFFERS] = FOVEA_DIFFERS, [TUNE_CRASHES] = FOVEA_CRASHES, [TUNE_HANGS] = FOVEA_HANGS};
    bool right[FOVEA_VARIANTS];
    int32_t runs[TUNE_RUNS], guilty = -1;
    memcpy(right, s->trusted, sizeof right);
    trust(s, racer, c, right);
    s->track.cases[c]->kind->runs(racer->ready[c], runs);
    for (uint32_t i = TUNE_RUNS; i-- > 0;) {
        if (runs[i] >= 0 && s->quarantine[runs[i]])
            return;
        if (runs[i] >= 0 && !right[runs[i]] && fovea_variant_facts[runs[i]].required != 0)
            guilty = runs[i];
    }
    if (guilty >= 0) {
        s->quarantine[guilty] = why[verdict];
        s->banned = true;
    }
}

// Asks about the first `count` racers, and blames what is wrong. verdicts[i]: TUNE_SAME if racer i is right throughout.
static void ask(struct tune_search *s, uint32_t count, enum tune_verdict *verdicts)
{
    const uint32_t each = s->track.count * WAYS;
    struct questions q = {.search = s, .first = UINT32_MAX};
    s->patience.until = s->end.deadline; // rather than the class's deadline: a hanging candidate must be detected
    tune_ask(count * each, gives_scalar_bits, &q, &s->patience, s->end.stop, q.answers);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at + 1 < each && q.answers[i * each + at] == TUNE_SAME)
            at++;
        verdicts[i] = q.answers[i * each + at];
        s->failures += verdicts[i] >= TUNE_DIFFERS;
        if (verdicts[i] >= TUNE_DIFFERS && at % WAYS == 0) // within a line another plan may run than what `runs` tells
            blame(s, &s->racers[i], at / WAYS, verdicts[i]);
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
        tune_trust(s, racer);
    return verdict == TUNE_SAME;
}

bool tune_start_default(struct tune_search *s, struct tune_racer *racer)
{
    uint8_t before[FOVEA_VARIANTS];
    struct fovea_tuned model;
    const bool banned = s->banned;
    memcpy(before, s->quarantine, sizeof before);
    do {
        model = tune_default(s->engine, s->class, s->quarantine);
        if (!tune_racer_start(racer, &s->track, s->engine, s->class, &model))
            return false;
        if (tune_is_right(s, racer))
            return true;
        tune_racer_end(racer, &s->track);
    } while (model.kernel >= 0 && s->quarantine[model.kernel]);
    // With none it is right, so it is not they that are wrong.
    const bool none = model.kernel >= 0 && fovea_variant_facts[model.kernel].required == 0;
    for (uint32_t i = 0; i < FOVEA_VARIANTS && none; i++)
        if (fovea_variant_facts[i].slot == fovea_class_slot(s->class))
            s->quarantine[i] = before[i];
    s->banned = banned || memcmp(before, s->quarantine, sizeof before) != 0;
    return false;
}
