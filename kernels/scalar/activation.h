// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/activation.h - the activations of docs/numerics.md section 5, alone and at the end of a GEMM.
#ifndef FOVEA_KERNELS_SCALAR_ACTIVATION_H
#define FOVEA_KERNELS_SCALAR_ACTIVATION_H

#include "kernels/kernel.h"
#include "kernels/scalar/erf.h"
#include "kernels/scalar/exp2.h"
#include "kernels/scalar/sleef.h"

#include <math.h>

/// max(x, 0): a NaN passes, -0 stays.
static inline float scalar_relu(float x)
{
    return x < 0.0f ? 0.0f : x;
}

/// x * Phi(x) by erf.
static inline float scalar_gelu(float x)
{
    const float half = 0.5f * x;
    return fmaf(half, scalar_erf(x * 0x1.6a09e6p-1f), half);
}

/// x * Phi(x) by tanh(sqrt(2/pi) * (x + 0.044715 x^3)).
static inline float scalar_gelu_tanh(float x)
{
    const float half = 0.5f * x;
    const float u = x * fmaf(0x1.6e4e26p-5f * x, x, 1.0f);
    return fmaf(half, scalar_tanh(0x1.988454p-1f * u), half);
}

/// x / (1 + exp(-x)).
static inline float scalar_silu(float x)
{
    return x / (1.0f + scalar_exp2(x * -scalar_ln2e));
}

/// The activation `act`, one of FOVEA_ACT_*.
static inline float scalar_activation(uint32_t act, float x)
{
    switch (act) {
    case FOVEA_ACT_RELU:
        return scalar_relu(x);
    case FOVEA_ACT_GELU:
        return scalar_gelu(x);
    case FOVEA_ACT_GELU_TANH:
        return scalar_gelu_tanh(x);
    case FOVEA_ACT_TANH:
        return scalar_tanh(x);
    case FOVEA_ACT_SILU:
        return scalar_silu(x);
    default:
        return x;
    }
}

#endif
