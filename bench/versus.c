// SPDX-License-Identifier: Apache-2.0
// bench/versus.c - a first look at all peers, then interleaved pairs with those that may be the best.
//
// The first look only leaves out who is clearly behind: by a quarter, and none of those measured here varied by that.
// The best peer is the one with the lowest ratio after the pairs; choosing it so favours the peers, if anyone.
#include "bench/versus.h"

#include <math.h>

enum { RACERS_MAX = 32, FINALISTS = 3, PAIRS = 31, PAIRS_SLOW = 15 };
static const double behind = 1.25, slow_seconds = 30e-3;
static const double hopeless = 4; // what was guessed may be of memory that was slow to touch, twice what it will be

struct field {
    struct racer racer[RACERS_MAX];
    int peer[RACERS_MAX];
    double glance[RACERS_MAX];
    size_t count;
};

static void start(struct field *field, const struct contestant *peers, size_t count, bool packed, struct track *track,
                  struct versus *versus)
{
    for (size_t i = 0; i < count; i++)
        for (int form = 0; form <= packed && field->count < RACERS_MAX; form++) {
            double error;
            if (racer_start(&field->racer[field->count], &peers[i], form == 1, track, &error))
                field->peer[field->count++] = (int)i;
            else if (error != 0)
                versus->wrong = (int)i;
        }
}

// All who may be among the best once around the operands, in turns.
static void walk(struct field *field, struct track *track)
{
    struct racer *near[RACERS_MAX];
    double best = INFINITY;
    size_t count = 0;
    for (size_t i = 0; i < field->count; i++)
        best = fmin(best, field->racer[i].seconds);
    for (size_t i = 0; i < field->count; i++)
        if (field->racer[i].seconds < hopeless * best)
            near[count++] = &field->racer[i];
    race_walk(near, count, track);
}

// Two rounds, in turns; the better of them. Who needs twice the best time of the first is not asked again.
static void glance(struct field *field, struct track *track)
{
    double best = INFINITY;
    walk(field, track);
    for (size_t i = 0; i < field->count; i++) {
        field->glance[i] = race_glance(&field->racer[i], track);
        best = fmin(best, field->glance[i]);
    }
    for (size_t i = 0; i < field->count; i++)
        if (field->glance[i] < 2 * best)
            field->glance[i] = fmin(field->glance[i], race_glance(&field->racer[i], track));
}

// The fastest that is left at first sight, or the count where none is.
static size_t fastest(const struct field *field, const bool *raced)
{
    size_t best = field->count;
    for (size_t i = 0; i < field->count; i++)
        if (!raced[i] && (best == field->count || field->glance[i] < field->glance[best]))
            best = i;
    return best;
}

bool versus_is_behind(const struct bench_interval *ratio)
{
    return ratio->median < 0.97 || ratio->high < 1;
}

struct versus race_peers(struct racer *fovea, const struct contestant *peers, size_t count, struct track *track)
{
    struct versus versus = {.best = -1, .wrong = -1};
    struct field field = {.count = 0};
    bool raced[RACERS_MAX] = {false};
    start(&field, peers, count, fovea->packed, track, &versus);
    glance(&field, track);
    const size_t first = fastest(&field, raced);
    for (int i = 0; i < FINALISTS; i++) {
        const size_t next = fastest(&field, raced);
        if (next == field.count || field.glance[next] > behind * field.glance[first])
            break;
        raced[next] = true;
        const size_t pairs = field.glance[next] > slow_seconds ? PAIRS_SLOW : PAIRS;
        const struct bench_interval ratio = race_pairs(fovea, &field.racer[next], track, pairs);
        if (versus.best < 0 || ratio.median < versus.ratio.median) {
            versus.best = field.peer[next];
            versus.packed = field.racer[next].packed;
            versus.work_bytes = racer_work_bytes(&field.racer[next]);
            versus.ratio = ratio;
        }
    }
    for (size_t i = 0; i < field.count; i++)
        racer_end(&field.racer[i]);
    return versus;
}
