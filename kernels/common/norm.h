// SPDX-License-Identifier: Apache-2.0
// kernels/common/norm.h - what LayerNorm and RMSNorm share: a row over the root of its mean square around `mean`.
//
// Included after an ISA's vec.h. An absent gamma is read as 1 and an absent beta as -0, from a vector with step 0:
// fma(y, 1, beta) has the bits of y + beta, fma(y, gamma, -0) those of y * gamma, and fma(y, 1, -0) those of y, also if
// y is a zero of either sign. So one loop without branches handles all four cases.
#ifndef FOVEA_KERNELS_COMMON_NORM_H
#define FOVEA_KERNELS_COMMON_NORM_H

#include "kernels/common/rowsum.h"
#include "kernels/fault.h"

static inline fv_f32 norm_sum_step(fv_f32 lane, fv_f32 *x, fv_f32 unused)
{
    (void)unused;
    return fv_add(lane, *x);
}

static inline fv_f32 norm_square_step(fv_f32 lane, fv_f32 *x, fv_f32 mean)
{
    const fv_f32 d = FOVEA_FAULT_IS(LAYERNORM_ONE_PASS) ? *x : fv_sub(*x, mean);
    return fv_fma(d, d, lane);
}

static inline fv_f32 norm_mean(size_t n, const float *x)
{
    return fv_div(fv_set1(fv_row_sum(n, x, fv_zero(), norm_sum_step, NULL)), fv_set1((float)n));
}

/// y = (x - mean) / sqrt(mean of (x - mean)^2 + eps) * gamma + beta; y may be x.
static inline __attribute__((always_inline)) void norm_row(size_t n, float eps, const float *x, fv_f32 mean,
                                                           const float *gamma, const float *beta, float *y)
{
    const fv_f32 squares = fv_set1(fv_row_sum(n, x, mean, norm_square_step, NULL));
    const fv_f32 mean_square = fv_div(squares, fv_set1((float)n));
    const fv_f32 var = FOVEA_FAULT_IS(LAYERNORM_ONE_PASS) ? fv_sub(mean_square, fv_mul(mean, mean)) : mean_square;
    const fv_f32 deviation =
        FOVEA_FAULT_IS(NORM_EPS_OUTSIDE) ? fv_add(fv_sqrt(var), fv_set1(eps)) : fv_sqrt(fv_add(var, fv_set1(eps)));
    const fv_f32 rstd = fv_div(fv_set1(1.0f), deviation);

    float no_gamma[FV_LANES], no_beta[FV_LANES];
    fv_store(no_gamma, fv_set1(1.0f));
    fv_store(no_beta, fv_set1(-0.0f));
    const float *g = gamma ? gamma : no_gamma, *b = beta ? beta : no_beta;
    const size_t g_step = gamma ? FV_LANES : 0, b_step = beta ? FV_LANES : 0;
    size_t i = 0;
    for (; i + FV_LANES <= n; i += FV_LANES, g += g_step, b += b_step) {
        const fv_f32 normal = fv_mul(fv_sub(fv_load(x + i), mean), rstd);
        fv_store(y + i, fv_fma(normal, fv_load(g), fv_load(b)));
    }
    if (i < n) {
        const fv_f32 normal = fv_mul(fv_sub(fv_load_tail(x + i, n - i), mean), rstd);
        fv_store_tail(y + i, fv_fma(normal, fv_load_tail(g, n - i), fv_load_tail(b, n - i)), n - i);
    }
}

#endif
