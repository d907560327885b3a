// SPDX-License-Identifier: Apache-2.0
// kernels/common/activation.h - the activations of docs/numerics.md, sections 1 and 5; tanh itself is vec.h's fv_tanh.
//
// Included after an ISA's vec.h. Shared by the elementwise kernels and the GEMM epilogue, so that they agree in every
// bit.
#ifndef FOVEA_KERNELS_COMMON_ACTIVATION_H
#define FOVEA_KERNELS_COMMON_ACTIVATION_H

#include "kernels/common/erf.h"
#include "kernels/common/exp2.h"
#include "kernels/common/unary.h"
#include "kernels/fault.h"

/// x < 0 ? +0 : x. Uses a comparison, because max instructions differ between ISAs on NaN and on -0, both of which pass
/// through here.
static inline fv_f32 fv_relu(fv_f32 x)
{
    return FOVEA_FAULT_IS(RELU_DROPS_NAN) ? fv_select(fv_gt(x, fv_zero()), x, fv_zero())
                                          : fv_select(fv_lt(x, fv_zero()), fv_zero(), x);
}

FV_EACH(fv_relu)
FV_EACH(fv_tanh)

/// h + h erf(x sqrt(1/2)) with h = x / 2, computed as h + |h| erf(|x| sqrt(1/2)), which is equal before rounding and
/// needs no sign for erf. |x| sqrt(1/2) is computed from |h|. For a denormal x that may be another number, but the
/// result is h then, whatever the erf.
static inline __attribute__((always_inline)) void fv_gelu_each(fv_f32 *x, int n)
{
    fv_f32 h[FV_BESIDE], magnitude[FV_BESIDE];
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        h[j] = fv_mul(fv_set1(0.5f), x[j]);
        magnitude[j] = fv_abs(h[j]);
        x[j] = fv_mul(magnitude[j], fv_set1(0x1.6a09e6p+0f)); // sqrt(2)
    }
    fv_erf_magnitude_each(x, n);
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        x[j] = fv_fma(magnitude[j], x[j], h[j]);
    }
}

static inline fv_f32 fv_gelu_tanh(fv_f32 x)
{
    const fv_f32 h = fv_mul(fv_set1(0.5f), x);
    const fv_f32 u = fv_mul(x, fv_fma(fv_mul(fv_set1(0x1.6e4e26p-5f), x), x, fv_set1(1.0f))); // x + 0.044715 x^3
    return fv_fma(h, fv_tanh(fv_mul(fv_set1(0x1.988454p-1f), u)), h);                         // sqrt(2/pi)
}

FV_EACH(fv_gelu_tanh)

/// x / (1 + exp(-x)): one division, which also carries the limits: x / 1 far above 0, -0 where exp(-x) overflows.
static inline __attribute__((always_inline)) void fv_silu_each(fv_f32 *x, int n)
{
    const fv_f32 ln2e = fv_set1(FOVEA_FAULT_IS(SILU_SIGN) ? fv_ln2e : -fv_ln2e);
    fv_f32 e[FV_BESIDE];
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        e[j] = fv_mul(x[j], ln2e);
    }
    fv_exp2_each(e, n);
    FV_UNROLL
    for (int j = 0; j < n; j++) {
        x[j] = fv_div(x[j], fv_add(fv_set1(1.0f), e[j]));
    }
}

#endif
