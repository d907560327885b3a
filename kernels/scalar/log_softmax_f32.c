// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/log_softmax_f32.c - log(softmax) of one row, the definition (docs/numerics.md section 4).
#include "kernels/kernel.h"
#include "kernels/scalar/exp2.h"
#include "kernels/scalar/rowsum.h"
#include "kernels/scalar/sleef.h"

void fovea_log_softmax_f32_scalar(size_t n, const float *x, float *y)
{
    const float m = scalar_row_max(n, x);
    const float ms = m == -INFINITY ? 0.0f : m;
    float lane[SCALAR_LANES] = {0.0f};
    for (size_t i = 0; i < n; i++) {
        lane[i % SCALAR_LANES] += scalar_exp2((x[i] - ms) * scalar_ln2e);
    }
    const float l = scalar_lane_sum(lane);
    const float ln_l = scalar_ln(l);
    for (size_t i = 0; i < n; i++) {
        y[i] = l == 0.0f ? -INFINITY : (x[i] - ms) - ln_l;
    }
}
