// SPDX-License-Identifier: Apache-2.0
// history/metric.h - what is known of metrics by their names.
#ifndef FOVEA_HISTORY_METRIC_H
#define FOVEA_HISTORY_METRIC_H

#include "history/history.h"

struct metric {
    const char *unit;
    enum history_better better;
    bool exact; ///< the same in every repetition: any difference is one
};

/// Unit and direction. Counters of other programs: rates (..._per_second) are better when more; of the rest nothing is
/// known, and they are kept without a judgement.
struct metric metric_of(const char *name);

/// 0, or of a size from 1e-50 to 1e50: not NaN, and so far from infinity that ratios, products and intervals of such
/// figures are finite. JSON and the page have no other numbers.
bool metric_is_figure(double value);

#endif
