// SPDX-License-Identifier: Apache-2.0
// history/check.c - the changes of every series that are recent enough to stop a merge.
#include "history/check.h"
#include "history/arena.h"
#include "history/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Series of fewer runs are not judged: 4 before a change and 3 behind it are the least the tests can tell apart.
enum { RUNS_MIN = 7, LINE_MAX = 384, NEAR = 3 };

struct checking {
    const struct history_book *book;
    const struct check_options *options;
    struct check *check;
    struct arena_block *arena;
    size_t last; // index of the last run that counts
    size_t room;
    struct history_change *changes; // of one series
    size_t change_room;
};

// The last run of a commit, or of all.
static bool find_last(struct checking *checking)
{
    const struct history_book *const book = checking->book;
    const char *const commit = checking->options->commit;
    for (size_t i = book->run_count; i-- > 0;)
        if (strcmp(book->runs[i].branch, checking->options->branch) == 0 &&
            (!commit || strcmp(book->runs[i].commit, commit) == 0)) {
            checking->last = i;
            return true;
        }
    return false;
}

static const struct history_series *find_series(const struct history_book *book, const struct history_series *like,
                                                const char *branch)
{
    for (size_t i = 0; i < book->series_count; i++) {
        const struct history_series *const series = &book->series[i];
        if (strcmp(series->branch, branch) == 0 && strcmp(series->benchmark, like->benchmark) == 0 &&
            strcmp(series->metric, like->metric) == 0 && strcmp(series->machine, like->machine) == 0)
            return series;
    }
    return NULL;
}

// What is known of the baseline's `before` points in front and of the series itself, as places in the line. The oldest
// `left_out` points are missing there: their places wrap around, beyond the end.
static bool join_acknowledgements(struct checking *checking, const struct history_series *base,
                                  const struct history_series *own, struct history_series *line, size_t before,
                                  size_t left_out)
{
    const size_t of_base = base ? base->acknowledgement_count : 0;
    struct history_acknowledgement *const known =
        arena_take(&checking->arena, (of_base + own->acknowledgement_count + 1) * sizeof *known);
    if (!known)
        return false;
    line->acknowledgement_count = 0;
    for (size_t i = 0; i < of_base; i++)
        if (base->acknowledgements[i].at < before) {
            known[line->acknowledgement_count] = base->acknowledgements[i];
            known[line->acknowledgement_count++].at -= left_out;
        }
    for (size_t i = 0; i < own->acknowledgement_count; i++) {
        known[line->acknowledgement_count] = own->acknowledgements[i];
        known[line->acknowledgement_count++].at += before - left_out;
    }
    line->acknowledgements = known;
    return true;
}

// The series as it is judged: the baseline's points up to its own first, then its own, none newer than the last run.
// Changes before its own first point are the baseline's affair, but for the detector's uncertainty (NEAR). What is
// acknowledged there is so here.
static bool line_up(struct checking *checking, const struct history_series *own, struct history_series *line,
                    size_t *first_own)
{
    const char *const baseline = checking->options->baseline;
    const struct history_series *const base =
        baseline && strcmp(baseline, own->branch) != 0 ? find_series(checking->book, own, baseline) : NULL;
    *line = *own;
    line->count = 0;
    struct history_point *const points =
        arena_take(&checking->arena, ((base ? base->count : 0) + own->count) * sizeof *points);
    if (!points)
        return false;
    for (size_t i = 0; base && i < base->count && base->points[i].run < own->points[0].run; i++)
        points[line->count++] = base->points[i];
    const size_t before = line->count;
    for (size_t i = 0; i < own->count && own->points[i].run <= checking->last; i++)
        points[line->count++] = own->points[i];
    // What is older than a few of the detector's stretches says nothing about recent changes, and takes its time.
    const size_t most = LINE_MAX + checking->options->recent, left_out = line->count > most ? line->count - most : 0;
    line->points = points + left_out;
    line->count -= left_out;
    *first_own = before > left_out ? before - left_out : 0;
    return join_acknowledgements(checking, base, own, line, before, left_out);
}

static bool add_finding(struct checking *checking, const struct history_series *line,
                        const struct history_change *change, bool jump)
{
    struct check *const check = checking->check;
    if (check->count == checking->room) {
        const size_t room = 2 * checking->room + 64;
        struct check_finding *const findings = realloc(check->findings, room * sizeof *findings);
        if (!findings)
            return false;
        check->findings = findings;
        checking->room = room;
    }
    struct history_series *const series = arena_take(&checking->arena, sizeof *series);
    if (!series)
        return false;
    *series = *line;
    const enum check_kind kind = !change->worse         ? CHECK_IMPROVEMENT
                                 : change->acknowledged ? CHECK_ACKNOWLEDGED
                                                        : CHECK_REGRESSION;
    check->findings[check->count++] = (struct check_finding){.series = series,
                                                             .kind = kind,
                                                             .change = *change,
                                                             .good = line->points[change->at - 1].run,
                                                             .bad = line->points[change->at].run,
                                                             .runs = line->count - change->at,
                                                             .jump = jump};
    check->regressions += kind == CHECK_REGRESSION;
    return true;
}

static void count_disturbed(struct checking *checking, const struct history_series *series)
{
    for (size_t i = 0; i < series->disturbed_count; i++) {
        checking->check->disturbed += series->disturbed[i].run <= checking->last;
        checking->check->disturbed_newest += series->disturbed[i].run == checking->last;
    }
}

// Room for as many changes as a series has points: one without noise may change with every run.
static bool make_room(struct checking *checking, size_t points)
{
    if (points <= checking->change_room)
        return true;
    struct history_change *const changes = realloc(checking->changes, points * sizeof *changes);
    if (!changes)
        return false;
    checking->changes = changes;
    checking->change_room = points;
    return true;
}

static bool check_series(struct checking *checking, const struct history_series *own)
{
    struct history_series line;
    size_t first_own;
    if (own->better == HISTORY_NEITHER || strcmp(own->branch, checking->options->branch) != 0)
        return true;
    count_disturbed(checking, own);
    if (own->count == 0) { // all of it is disturbed
        checking->check->too_short++;
        return true;
    }
    if (own->points[0].run > checking->last)
        return true;
    if (!line_up(checking, own, &line, &first_own))
        return false;
    if (line.count < RUNS_MIN) {
        checking->check->too_short++;
        return true;
    }
    checking->check->judged++;
    if (!make_room(checking, line.count))
        return false;
    const struct history_change *const changes = checking->changes;
    const size_t count = history_changes(&line, &checking->options->test, checking->changes, line.count);
    bool done = true;
    for (size_t i = 0; i < count && done; i++) {
        const size_t near = changes[i].confidence < 1 ? NEAR : 1;
        if (line.count - changes[i].at <= checking->options->recent && changes[i].at + near > first_own)
            done = add_finding(checking, &line, &changes[i], false);
    }
    struct history_change jump;
    if (done && history_jump(&line, count ? changes[count - 1].at : 0, &checking->options->test, &jump))
        done = add_finding(checking, &line, &jump, true);
    return done;
}

static int compare_findings(const void *a, const void *b)
{
    const struct check_finding *const x = a, *const y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    const double one = fabs(log1p(x->change.effect)), two = fabs(log1p(y->change.effect));
    return (one < two) - (one > two);
}

bool history_check(const struct history_book *book, const struct check_options *options, struct check *check,
                   bool *missing)
{
    struct checking checking = {.book = book, .options = options, .check = check};
    *check = (struct check){0};
    *missing = !find_last(&checking);
    if (*missing)
        return false;
    bool done = true;
    for (size_t i = 0; i < book->series_count && done; i++)
        done = check_series(&checking, &book->series[i]);
    free(checking.changes);
    check->memory = checking.arena;
    if (!done)
        check_free(check);
    else if (check->count)
        qsort(check->findings, check->count, sizeof *check->findings, compare_findings);
    return done;
}

void check_free(struct check *check)
{
    arena_free(check->memory);
    free(check->findings);
    *check = (struct check){0};
}
