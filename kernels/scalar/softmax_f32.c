// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/softmax_f32.c - softmax of one row, the definition (docs/numerics.md section 4).
#include "kernels/kernel.h"
#include "kernels/scalar/exp2.h"
#include "kernels/scalar/rowsum.h"

void fovea_softmax_f32_scalar(size_t n, const float *x, float *y)
{
    const float m = scalar_row_max(n, x);
    const float ms = m == -INFINITY ? 0.0f : m;
    float lane[SCALAR_LANES] = {0.0f};
    for (size_t i = 0; i < n; i++) {
        y[i] = scalar_exp2((x[i] - ms) * scalar_ln2e);
        lane[i % SCALAR_LANES] += y[i];
    }
    const float l = scalar_lane_sum(lane);
    const float r = l == 0.0f ? 0.0f : 1.0f / l;
    for (size_t i = 0; i < n; i++) {
        y[i] = y[i] * r;
    }
}
