// SPDX-License-Identifier: Apache-2.0
// tests/check/bounds.h - how far a kernel may be from the exact result: the constants the oracles' bounds are made of.
//
// u = 2^-24 is the error of one rounding, relative to the result. The sums of roundings are derived beside each use;
// here are the bounds of the functions, which docs/numerics.md states.
#ifndef FOVEA_TESTS_CHECK_BOUNDS_H
#define FOVEA_TESTS_CHECK_BOUNDS_H

#define CHECK_U 0x1p-24

#define CHECK_EXP2_ULP 0.80     ///< -126 <= x < 128
#define CHECK_EXP2_LOW 0x1p-127 ///< absolute, -127 < x < -126
#define CHECK_TANH_ULP 1.0      ///< SLEEF tanhf_u10
#define CHECK_LN_ULP 1.0        ///< SLEEF logf_u10
#define CHECK_SIN_ULP 1.0       ///< SLEEF sinf_u10, cosf_u10
#define CHECK_GELU_ULP 1.3      ///< both forms of gelu, in ulp of x

#define CHECK_SILU_ULP 2.0       ///< from CHECK_SILU_END on, and below 0 so many ulp more:
#define CHECK_SILU_ULP_PER_X 1.2 ///< times |x|
#define CHECK_SILU_END (-88.7)
#define CHECK_SILU_LOW 0x1p-121 ///< absolute, below CHECK_SILU_END

/// A relative error of n roundings: n u / (1 - n u).
static inline double check_gamma(double n)
{
    return n * CHECK_U / (1 - n * CHECK_U);
}

#endif
