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

// The question to the child: racer i on every case, on the first one in every way.
static bool gives_scalar_bits(void *arg, uint32_t i)
{
    const struct tune_search *const s = arg;
    bool same = true;
    for (uint32_t c = 0; c < s->track.count && same && !is_known(s, &s->racers[i].tuned); c++)
        same = s->track.cases[c]->kind->verify(s->racers[i].ready[c], c == 0);
    return same;
}

void tune_drop(struct tune_search *s, uint32_t i)
{
    tune_racer_end(&s->racers[i], &s->track);
    s->count--;
    memmove(&s->racers[i], &s->racers[i + 1], (s->count - i) * sizeof *s->racers);
    memmove(&s->trial_of[i], &s->trial_of[i + 1], (s->count - i) * sizeof *s->trial_of);
}

// A kernel with which a candidate gave wrong bits is not used again, unless it is the one that everything has been
// right with.
static void blame(struct tune_search *s, const struct fovea_tuned *tuned, enum tune_verdict verdict)
{
    static const uint8_t why[] = {
        [TUNE_DIFFERS] = FOVEA_DIFFERS, [TUNE_CRASHES] = FOVEA_CRASHES, [TUNE_HANGS] = FOVEA_HANGS};
    s->failures++;
    if (tuned->kernel >= 0 && tuned->kernel != s->trusted && fovea_variant_facts[tuned->kernel].required != 0)
        s->quarantine[tuned->kernel] = why[verdict];
}

void tune_verify(struct tune_search *s)
{
    enum tune_verdict verdicts[TUNE_CANDIDATES_MAX];
    s->patience.until = s->end.deadline; // rather than the class's deadline: a hanging candidate must be detected
    tune_ask(s->count, gives_scalar_bits, s, &s->patience, s->end.stop, verdicts);
    for (uint32_t i = s->count; i-- > 0;) {
        if (s->trial_of[i] < s->trial_count)
            s->trials[s->trial_of[i]].verdict = verdicts[i];
        if (verdicts[i] != TUNE_SAME) {
            if (verdicts[i] != TUNE_UNKNOWN)
                blame(s, &s->racers[i].tuned, verdicts[i]);
            tune_drop(s, i);
        }
    }
}

bool tune_is_right(struct tune_search *s, struct tune_racer *racer)
{
    enum tune_verdict verdict;
    if (s->tamper)
        s->tamper(racer->engine, s->class, &racer->tuned);
    if (is_known(s, &racer->tuned))
        return true;
    s->racers[0] = *racer;
    s->patience.until = s->end.deadline;
    tune_ask(1, gives_scalar_bits, s, &s->patience, s->end.stop, &verdict);
    if (verdict != TUNE_SAME && verdict != TUNE_UNKNOWN)
        blame(s, &racer->tuned, verdict);
    struct tune_trial *const trial = tune_note(s, 0, &racer->tuned);
    if (trial)
        trial->verdict = verdict;
    return verdict == TUNE_SAME;
}

bool tune_start_default(struct tune_search *s, struct tune_racer *racer)
{
    for (;;) {
        const struct fovea_tuned model = tune_default(s->engine, s->class, s->quarantine);
        if (!tune_racer_start(racer, &s->track, s->engine, s->class, &model))
            return false;
        if (tune_is_right(s, racer))
            return true;
        tune_racer_end(racer, &s->track);
        if (model.kernel < 0 || !s->quarantine[model.kernel])
            return false;
    }
}
