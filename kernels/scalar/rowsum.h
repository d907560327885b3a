// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/rowsum.h - the row sum of docs/numerics.md section 1: sixteen lanes, then one fixed tree.
#ifndef FOVEA_KERNELS_SCALAR_ROWSUM_H
#define FOVEA_KERNELS_SCALAR_ROWSUM_H

#include <math.h>
#include <stddef.h>

/// Lanes of a row sum: element i is added to lane i % SCALAR_LANES; each lane starts at +0.
enum { SCALAR_LANES = 16 };

/// The sum of the lanes, which are overwritten.
static inline float scalar_lane_sum(float *lane)
{
    for (size_t h = SCALAR_LANES / 2; h > 0; h /= 2) {
        for (size_t i = 0; i < h; i++) {
            lane[i] = lane[i] + lane[i + h];
        }
    }
    return lane[0];
}

/// The largest element of a row, -inf if it is empty; NaNs are ignored.
static inline float scalar_row_max(size_t n, const float *x)
{
    float max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        max = x[i] > max ? x[i] : max;
    }
    return max;
}

#endif
