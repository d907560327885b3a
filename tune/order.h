// SPDX-License-Identifier: Apache-2.0
// tune/order.h - in which order classes are searched, and with how much of the time.
#ifndef FOVEA_TUNE_ORDER_H
#define FOVEA_TUNE_ORDER_H

#include "dispatch/adopt.h"

/// The classes whose "operator name" contains `only` (NULL: all), the border first, then in order of importance to most
/// programs. Returns their number.
uint32_t tune_order(const char *only, uint32_t classes[FOVEA_TUNED_CLASSES]);
/// The share of a class in the time, beside those of others. Long products need more for the same number of pairs; most
/// slots have a single kernel and need none, but some that have more have several problems.
double tune_share(const struct fovea_engine *engine, uint32_t class);

#endif
