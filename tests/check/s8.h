// SPDX-License-Identifier: Apache-2.0
// tests/check/s8.h - 8-bit integers with scales, as kernels read them, drawn at random.
#ifndef FOVEA_TESTS_CHECK_S8_H
#define FOVEA_TESTS_CHECK_S8_H

#include "tests/check/check.h"

#include <math.h>

/// Bytes of a panel of k steps, whose last group is only as long as it must be, in whole cache lines.
static inline size_t s8_panel_bytes(size_t k)
{
    const size_t groups = (k + FOVEA_GROUP - 1) / FOVEA_GROUP;
    return groups * sizeof(float[FOVEA_PANEL]) + (k * FOVEA_PANEL + 63) / 64 * 64;
}

/// A scale of 15 bits: of any size, from denormal ones to the largest, below 2^112; or near 2^-7.
static inline float s8_scale(struct check_rng *rng, bool any)
{
    const int fraction = (1 << 14) + (int)check_below(rng, 1 << 14);
    return ldexpf((float)fraction, any ? -149 + (int)check_below(rng, 149 + 98) : -21);
}

/// Steps of a group; of one column of eight all integers are 0, for which the scale may be 0, too.
static inline void s8_fill(struct check_rng *rng, size_t steps, bool any, uint8_t *q, float *scale)
{
    for (size_t j = 0; j < FOVEA_PANEL; j++) {
        const bool zero = check_below(rng, 8) == 0;
        scale[j] = zero && check_below(rng, 2) == 0 ? 0 : s8_scale(rng, any);
        for (size_t p = 0; p < steps; p++)
            q[p * FOVEA_PANEL + j] = zero ? 128 : (uint8_t)check_next(rng);
    }
}

#endif
