// SPDX-License-Identifier: Apache-2.0
// history/page_band.h - between which values the median of a point's repetitions lies.
#ifndef FOVEA_HISTORY_PAGE_BAND_H
#define FOVEA_HISTORY_PAGE_BAND_H

#include "history/history.h"

struct page_band {
    double low, high;
};

/// The interval of order statistics that holds the true median with at least 95 %; below 6 repetitions, where there is
/// none, from the smallest to the largest. The median itself where there is one repetition. work: as many doubles as
/// there are repetitions.
struct page_band page_band(const struct history_point *point, double *work);

#endif
