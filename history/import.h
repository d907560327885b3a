// SPDX-License-Identifier: Apache-2.0
// history/import.h - a report becomes a run.
#ifndef FOVEA_HISTORY_IMPORT_H
#define FOVEA_HISTORY_IMPORT_H

#include "history/report.h"

/// What a run is filed under.
struct history_labels {
    const char *machine; ///< NULL: the report's host_name
    const char *branch;  ///< NULL: "main"
    const char *commit;  ///< NULL: the fact "commit" of the report, which must then be there
    bool has_time;       ///< false: time is the report's date, and without one the present
    int64_t time;        ///< its place on the commit axis
};

/// Fills in what labels leave to the report. NULL, or the line that says what neither has.
const char *history_fill_labels(const struct report *report, struct history_labels *labels);

/// What became of it.
struct history_imported {
    int64_t run;
    bool already; ///< the same report under the same labels was there: nothing has changed
    size_t series, values;
};

/// Stores a report, whole or not at all, in the transaction that the caller has begun or in its own. Any number of
/// programs may do so at once. False with history_message set.
bool history_import(struct history *history, const struct report *report, const struct history_labels *labels,
                    struct history_imported *imported);
/// Says of a series that somebody knows of the change that begins with `run` (ids). Once more replaces the note.
bool history_acknowledge(struct history *history, int64_t series, int64_t run, const char *note);

#endif
