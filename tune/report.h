// SPDX-License-Identifier: Apache-2.0
// tune/report.h - the search as a page.
#ifndef FOVEA_TUNE_REPORT_H
#define FOVEA_TUNE_REPORT_H

#include "tune/tune.h"

#include <stdio.h>

/// Writes one self-contained HTML page: a plot of all candidates of each class. Errors of the file are left for the
/// caller to find (ferror).
void tune_report(FILE *file, const struct fovea_engine *engine, const struct tune_result *result);

#endif
