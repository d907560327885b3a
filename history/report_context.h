// SPDX-License-Identifier: Apache-2.0
// history/report_context.h - the part of a report that is not figures.
#ifndef FOVEA_HISTORY_REPORT_CONTEXT_H
#define FOVEA_HISTORY_REPORT_CONTEXT_H

#include "history/report.h"

#include <jansson.h>

/// Takes Google Benchmark's "context" as facts: texts as they are, caches by their names, anything else as JSON writes
/// it; and its date. False without memory.
bool report_context(struct report *report, json_t *context);

#endif
