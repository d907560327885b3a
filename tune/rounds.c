// SPDX-License-Identifier: Apache-2.0
// tune/rounds.c - searches classes, and again what is worth it, and keeps what is proved.
//
// The border between near and far comes first, then the classes on both sides of it. While there is time everything is
// searched again, starting from what was found, so that a choice made or missed in a disturbed moment does not persist.
// The border then ends up where the choices of both sides are equally good. Whenever it ends, what all classes have was
// proved with the border that is kept.
#include "tune/rounds.h"
#include "tune/order.h"
#include "tune/write.h"

#include <math.h>

enum { ROUNDS = 4 };

// The state of a class between rounds.
struct past {
    struct fovea_tuned best;
    bool known; // best is a good starting point
    bool open;  // to be searched, or searched again because it is undecided
    bool stale; // its initial choice must be proved anew, or is dropped
    bool moved; // its problems have changed since it was proved
    bool tried; // it was searched since
    bool done;  // it was searched: its default, or what it had, gave the right bits
};

// An engine with the proved choices of the classes, for searching the border.
static struct fovea_engine *tuned_engine(const struct fovea_engine *engine, const struct fovea_profile *profile)
{
    struct fovea_tuned border = fovea_tuned_get(fovea_engine_kernels(engine), FOVEA_CLASS_CACHE);
    struct fovea_engine *tuned = fovea_engine_copy_with(engine, FOVEA_CLASS_CACHE, &border);
    for (uint32_t class = 0; class < FOVEA_CLASS_CACHE && tuned; class ++)
        if (profile->has[class]) {
            struct fovea_engine *const more = fovea_engine_copy_with(tuned, class, &profile->tuned[class]);
            fovea_engine_destroy(tuned);
            tuned = more;
        }
    return tuned;
}

void tune_move(struct tune_search *s, struct fovea_engine *engine)
{
    struct tune_run *const run = s->owner;
    if (engine) {
        fovea_engine_destroy(run->owned);
        s->engine = run->owned = engine;
    }
}

// Applies the profile's border to the search; returns whether it has changed.
static bool move_border(struct tune_search *s)
{
    const struct tune_run *const run = s->owner;
    const struct fovea_profile *const profile = &run->result->profile;
    const struct fovea_tuned now = fovea_tuned_get(fovea_engine_kernels(s->engine), FOVEA_CLASS_CACHE),
                             model = tune_default(s->engine, FOVEA_CLASS_CACHE, s->quarantine),
                             *const wanted =
                                 profile->has[FOVEA_CLASS_CACHE] ? &profile->tuned[FOVEA_CLASS_CACHE] : &model;
    struct fovea_engine *const moved =
        fovea_tuned_same(&now, wanted) ? NULL : fovea_engine_copy_with(s->engine, FOVEA_CLASS_CACHE, wanted);
    tune_move(s, moved);
    return moved != NULL;
}

// Searches a class; false: there was no memory, or no time, for its problems.
static bool search_class(struct tune_search *s, uint32_t class, double seconds, const struct fovea_tuned *from,
                         bool proved)
{
    bool complete;
    const struct tune_run *const run = s->owner;
    struct fovea_profile *const profile = &run->result->profile;
    const struct fovea_engine *const engine = s->engine;
    struct fovea_engine *const tuned = class == FOVEA_CLASS_CACHE ? tuned_engine(engine, profile) : NULL;
    s->engine = tuned ? tuned : engine;
    s->class = class;
    s->class_deadline = tune_now() + seconds;
    s->undecided = s->refuted = s->adopted = false;
    s->best = tune_default(s->engine, class, s->quarantine);
    s->track.count = tune_cases(s->engine, class, s->effort->cases, &s->end, s->track.cases, &complete);
    s->searched = s->track.count && tune_search_class(s, from, proved);
    s->adopted = s->searched && s->adopted && tune_now() < s->end.deadline;
    if (s->adopted) {
        profile->has[class] = 1;
        profile->tuned[class] = s->best;
        profile->evidence[class] = s->evidence;
    }
    tune_cases_destroy(s->track.cases, s->track.count);
    s->engine = engine;
    fovea_engine_destroy(tuned);
    return complete;
}

// Resets a class that had an initial choice, or whose border has moved, to the default if that is as good.
static void keep_or_forget(struct tune_search *s, uint32_t class, bool tried, struct past *past)
{
    const struct tune_run *const run = s->owner;
    struct fovea_profile *const profile = &run->result->profile;
    if (past->stale && s->refuted)
        tune_forget(profile, class);
    const struct fovea_tuned usual = tune_default(s->engine, class, s->quarantine);
    *past = (struct past){.best = profile->has[class] ? profile->tuned[class]
                                  : s->refuted        ? usual
                                                      : s->best,
                          .known = true,
                          .open = s->undecided,
                          .stale = past->stale && !s->adopted && !s->refuted,
                          .moved = past->moved && !s->adopted && !s->refuted,
                          .tried = tried,
                          .done = past->done || s->searched};
}

// Goes on without what was put into quarantine. Nothing is known of what runs in its place, and what is proved was
// proved against another default.
static void leave_banned(struct tune_search *s, struct past *past)
{
    struct tune_run *const run = s->owner;
    struct fovea_profile *const profile = &run->result->profile;
    if (!s->banned)
        return;
    s->banned = false;
    s->known_from = s->trial_count;
    tune_banish(profile, s->quarantine);
    tune_move(s, fovea_engine_copy_without(s->engine, s->quarantine));
    move_border(s); // that has the default's
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++)
        if (profile->has[class])
            past[class].open = past[class].stale = true;
}

// Whether a class was proved before the border moved, and is still to be searched with the new one.
static bool waits(const struct tune_run *run, const struct past *past, uint32_t class)
{
    return run->moved && run->before.has[class] && past[class].moved && !past[class].tried;
}

// To be called before the border is searched: remembers what is proved with this one, unless classes wait.
static void remember(struct tune_run *run, const struct past *past)
{
    for (uint32_t class = 0; class < FOVEA_GEMM_CLASSES; class ++)
        if (waits(run, past, class))
            return;
    run->before = run->result->profile;
    run->moved = false;
    for (uint32_t class = 0; class < FOVEA_GEMM_CLASSES; class ++)
        if (past[class].moved) // and tried, so that its proof is of another border
            tune_forget(&run->before, class);
}

// Forgets what was proved on problems that are no longer those of its class; or, if the time did not suffice to search
// all such classes again, goes back to the border with which they were proved.
static void settle(struct tune_run *run, const struct past *past)
{
    struct fovea_profile *const profile = &run->result->profile;
    bool back = false;
    for (uint32_t class = 0; class < FOVEA_GEMM_CLASSES; class ++)
        back |= waits(run, past, class);
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        if (back && (class < FOVEA_GEMM_CLASSES || class == FOVEA_CLASS_CACHE)) {
            profile->has[class] = run->before.has[class];
            profile->tuned[class] = run->before.tuned[class];
            profile->evidence[class] = run->before.evidence[class];
        } else if (past[class].moved) {
            tune_forget(profile, class);
        }
    }
}

// Searches the open classes; false when the time is over.
static bool search_round(struct tune_search *s, uint32_t round, uint32_t count, const uint32_t *classes,
                         struct past *past)
{
    struct tune_run *const run = s->owner;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t class = classes[i];
        struct past *const p = &past[class];
        if (!p->open)
            continue;
        const double left = s->end.deadline - tune_now();
        if (left <= fmin(0.5, 0.1 * run->budget) || tune_stopped(&s->end)) // starting a class takes time, too
            return false;
        double shares = 0; // shares of the open classes, which may have become more
        for (uint32_t j = i; j < count; j++)
            shares += past[classes[j]].open ? tune_share(s->engine, classes[j]) : 0;
        if (class == FOVEA_CLASS_CACHE)
            remember(run, past);
        const bool complete = search_class(s, class, left * tune_share(s->engine, class) / shares,
                                           p->known ? &p->best : NULL, run->result->profile.has[class] && !p->stale);
        const bool late = tune_over(&s->end);
        if (s->adopted || !late)
            keep_or_forget(s, class, complete, p);
        if (class == FOVEA_CLASS_CACHE && move_border(s)) {
            s->known_from = s->trial_count; // classes are represented by other cases now
            run->moved = true;
            for (uint32_t other = 0; other < FOVEA_GEMM_CLASSES; other++) {
                past[other].open = past[other].stale = past[other].moved = true;
                past[other].tried = false;
            }
        }
        leave_banned(s, past);
        if (late)
            return false;
        run->result->classes_left += round == 0 && !complete;
    }
    return true;
}

void tune_rounds(struct tune_search *s)
{
    struct tune_run *const run = s->owner;
    const struct fovea_profile *const start = run->options->start;
    uint32_t classes[FOVEA_TUNED_CLASSES];
    struct past past[FOVEA_TUNED_CLASSES];
    const uint32_t count = run->result->classes = tune_order(run->options->only, classes);
    for (uint32_t class = 0; class < FOVEA_TUNED_CLASSES; class ++) {
        past[class] = (struct past){.open = true, .stale = run->result->profile.has[class]};
        if (start && start->has[class]) {
            past[class].best = start->tuned[class];
            past[class].known = true;
        }
    }
    move_border(s);
    for (uint32_t round = 0; round < ROUNDS && search_round(s, round, count, classes, past); round++)
        for (uint32_t i = 0; i < count && round == 0 && s->effort->again; i++)
            past[classes[i]].open |= fovea_class(classes[i]).kind != FOVEA_TUNED_SLOT;
    for (uint32_t i = 0; i < count; i++)
        run->result->classes_done += past[classes[i]].done;
    settle(run, past);
    run->result->interrupted = tune_stopped(&s->end);
}
