// SPDX-License-Identifier: Apache-2.0
// history/check.c - the changes of every series that are recent enough to stop a merge.
#include "history/check.h"
#include "history/arena.h"
#include "history/baseline.h"
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

// The series as it is judged: the baseline's points up to its own first, then its own, none newer than the last run.
// Changes before its own first point are the baseline's affair, but for the detector's uncertainty (NEAR). What is
// acknowledged there is so here.
static bool line_up(struct checking *checking, size_t index, struct history_series *line, size_t *first_own)
{
    const char *const baseline = checking->options->baseline;
    struct history_series own = checking->book->series[index];
    const struct history_series *const base =
        baseline && strcmp(baseline, own.branch) != 0 ? baseline_of(checking->book, index, baseline) : NULL;
    while (own.points[own.count - 1].run > checking->last) // not the first, as its caller has seen
        own.count--;
    // What is older than a few of the detector's stretches says nothing about recent changes, and takes its time.
    return baseline_join(&checking->arena, base, &own, LINE_MAX + checking->options->recent, line, first_own);
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

static bool check_series(struct checking *checking, size_t index)
{
    const struct history_series *const own = &checking->book->series[index];
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
    if (!line_up(checking, index, &line, &first_own))
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
        done = check_series(&checking, i);
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
