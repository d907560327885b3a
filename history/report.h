// SPDX-License-Identifier: Apache-2.0
// history/report.h - one report of Google Benchmark (its JSON, version 1.7 and later), read into memory.
#ifndef FOVEA_HISTORY_REPORT_H
#define FOVEA_HISTORY_REPORT_H

#include "history/history.h"

/// A figure of one repetition.
struct report_value {
    const char *benchmark, *metric;
    size_t order; ///< its place in the report, so that repetitions stay in theirs
    double value; ///< 0, or of a size from 1e-50 to 1e50; times in seconds
};

/// Figures by benchmark, metric and place; facts as the context has them.
struct report {
    struct report_value *values;
    size_t value_count;
    struct history_fact *facts;
    size_t fact_count;
    size_t failed;      ///< benchmarks that reported an error in place of a time
    int64_t date;       ///< seconds since 1970 UTC, 0: none
    uint64_t digest[2]; ///< of the text
    void *memory;
};

/// Reads a file, "-" being standard input. False, with one line in `message`: cannot be read, is not JSON or ends too
/// early, is not a report of Google Benchmark, holds no time. Aggregates (mean, median, ...) are left out, and figures
/// that are not finite or not within 1e-50 to 1e50.
bool report_read(const char *path, struct report *report, char *message, size_t message_size);
/// The same from memory. Several texts make one report of all their repetitions, with the first one's context.
bool report_parse(const char *const *texts, const size_t *sizes, size_t count, struct report *report, char *message,
                  size_t message_size);
/// Adds a fact, or replaces it. False without memory.
bool report_fact(struct report *report, const char *name, const char *value);
/// The value of a fact, or NULL.
const char *report_find(const struct report *report, const char *name);
/// Frees it. A report of zeros is legal.
void report_free(struct report *report);

/// Seconds since 1970 of "2026-11-21T15:55:07+00:00" (or Z; a date alone is its midnight, UTC). False for other text.
bool report_date(const char *text, int64_t *seconds);

#endif
