// SPDX-License-Identifier: Apache-2.0
// tune/report.h - the search as a page.
#ifndef FOVEA_TUNE_REPORT_H
#define FOVEA_TUNE_REPORT_H

#include "tune/tune.h"

/// Writes one self-contained HTML file: a plot of all candidates of each class, and the table of choices. Returns false
/// if it cannot be written.
bool tune_report(const char *path, const struct fovea_engine *engine, const struct tune_result *result);

#endif
