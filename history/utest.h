// SPDX-License-Identifier: Apache-2.0
// history/utest.h - are two handfuls of repetitions from one distribution?
#ifndef FOVEA_HISTORY_UTEST_H
#define FOVEA_HISTORY_UTEST_H

#include <stddef.h>

/// Mann and Whitney's U test: the chance, under one distribution, of ranks at least as lopsided as these (two-sided).
/// Exact for at most 50 values without ties, else by the normal approximation with corrections for ties and
/// continuity. 1 where a side is empty or there is no memory.
double utest(const double *a, size_t a_count, const double *b, size_t b_count);

#endif
