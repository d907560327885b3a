// SPDX-License-Identifier: Apache-2.0
// history/page_band.h - between which values the median of a point's repetitions lies.
#ifndef FOVEA_HISTORY_PAGE_BAND_H
#define FOVEA_HISTORY_PAGE_BAND_H

#include "history/history.h"

struct page_band {
    double low, high;
};

/// The interval that holds the true median with 90 %. From 8 repetitions on it is one of order statistics (at least
/// 90 %, whatever the distribution). Of 5 to 7 it is so many median distances around the median, so that one repetition
/// which was disturbed does not stretch it (90 % of normal values, 85 to 90 % of skewed ones, simulated). Of fewer it
/// goes from the smallest to the largest (75 % of 3, 87 % of 4). work: as many doubles as there are repetitions.
struct page_band page_band(const struct history_point *point, double *work);

#endif
