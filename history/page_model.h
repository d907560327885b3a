// SPDX-License-Identifier: Apache-2.0
// history/page_model.h - what the page shows of a book: series with their changes, rows, verdicts, worst first.
#ifndef FOVEA_HISTORY_PAGE_MODEL_H
#define FOVEA_HISTORY_PAGE_MODEL_H

#include "history/history.h"
#include "history/page_text.h"

/// In the order in which rows are shown.
enum page_status {
    PAGE_WORSE,  ///< a change for the worse stands: at least half of what it lost is still lost
    PAGE_KNOWN,  ///< likewise, but somebody has acknowledged it
    PAGE_BETTER, ///< a change for the better within the last PAGE_NEWS points
    PAGE_STEADY,
    PAGE_FEW, ///< fewer than PAGE_POINTS undisturbed points and no jump: nothing can be said
};
enum { PAGE_NEWS = 30, PAGE_POINTS = 7 };

/// A point that is drawn.
struct page_point {
    const struct history_point *point;
    bool disturbed; ///< it is not one of the series' points, so nothing is judged by it
};

/// One figure on one machine and branch.
struct page_series {
    const struct history_series *series;
    struct page_metric metric;
    struct history_change *changes;
    size_t change_count;
    struct page_point *points; ///< all of them, in the order of their runs
    size_t count;
    size_t axis; ///< index of its runs in struct page: most series have the same ones
    size_t row;
    size_t fork; ///< series->points of the baseline before its own
    enum page_status status;
    size_t change; ///< the one that the status speaks of (WORSE, KNOWN, BETTER)
    double level;  ///< the newest one; 0 where all points are disturbed
    double effect; ///< from before that change until now
    double cost;   ///< how many times the cost of before, whichever way the metric is better
};

/// One benchmark on one machine and branch: series [first, first + count), the leading metric first.
struct page_row {
    size_t first, count;
    size_t shown;            ///< the series whose change the row shows: the leading one's, or the worst of the others
    enum page_status status; ///< that one's
    double cost;
};

struct page {
    const struct history_book *book;
    struct page_series *series; ///< by benchmark, machine, branch, rank of the metric
    struct page_row *rows;      ///< worst first
    size_t row_count;
    size_t *axes; ///< series that stand for an axis, the first that has it
    size_t axis_count;
};

/// Finds the changes of every series and orders the rows. False: no memory, and *page is empty.
bool page_make(struct page *page, const struct history_book *book);
/// A page of zeros is legal.
void page_free(struct page *page);

/// Joins a series' points with the disturbed ones (history/page_points.c). False: no memory.
bool page_join(struct page_series *series);
/// The place of one of the series' own points among all.
size_t page_place(const struct page_series *series, size_t at);
/// Gives each series the axis of its runs: that of an earlier one that has the same.
void page_find_axes(struct page *page);

/// A row's series of a metric, or NULL.
const struct page_series *page_find(const struct page *page, const struct page_row *row, const char *metric);
/// Whether a series' changes are told: its metric is judged, or leads its row.
bool page_speaks(const struct page *page, const struct page_series *series);
/// Whether a change belongs to the series' own branch, not to the baseline that is drawn before it.
bool page_owns(const struct page_series *series, const struct history_change *change);
/// What was noted when somebody acknowledged the change at a point: the note nearest to it.
const char *page_note(const struct page_series *series, size_t at);
/// A fact of a run, or NULL.
const char *page_fact(const struct history_run *run, const char *name);

#endif
