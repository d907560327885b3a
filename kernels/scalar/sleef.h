// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/sleef.h - ln, tanh, sin, cos: SLEEF's deterministic FMA forms, one value at a time.
//
// The SIMD kernels call the vector forms of the same functions, which give the same bits. The FMA forms are illegal
// instructions on x86 CPUs without FMA; such a CPU has no SIMD variant to agree with and takes the non-FMA forms.
// Nowhere else does a kernel itself ask what the CPU has: the scalar path is that of any CPU, and has one variant.
#ifndef FOVEA_KERNELS_SCALAR_SLEEF_H
#define FOVEA_KERNELS_SCALAR_SLEEF_H

#include <sleef.h>

#if defined(__x86_64__) && !defined(FP_FAST_FMA)
// <sleef.h> declares the FMA forms, and defines the macro, only where the compiler may use FMA itself, as the flags of
// a distribution or of a parent project allow. To clang its `const float` is another type than this one.
float Sleef_finz_logf1_u10purecfma(float x);
float Sleef_finz_tanhf1_u10purecfma(float x);
float Sleef_finz_sinf1_u10purecfma(float x);
float Sleef_finz_cosf1_u10purecfma(float x);
#endif
#if defined(__x86_64__)
#define SCALAR_HAS_FMA __builtin_cpu_supports("fma")
#else
#define SCALAR_HAS_FMA 1
#endif

/// Natural logarithm, at most 1 ulp.
static inline float scalar_ln(float x)
{
    return SCALAR_HAS_FMA ? Sleef_finz_logf1_u10purecfma(x) : Sleef_cinz_logf1_u10purec(x);
}

/// Hyperbolic tangent, at most 1 ulp.
static inline float scalar_tanh(float x)
{
    return SCALAR_HAS_FMA ? Sleef_finz_tanhf1_u10purecfma(x) : Sleef_cinz_tanhf1_u10purec(x);
}

/// Sine and cosine, at most 1 ulp.
static inline float scalar_sin(float x)
{
    return SCALAR_HAS_FMA ? Sleef_finz_sinf1_u10purecfma(x) : Sleef_cinz_sinf1_u10purec(x);
}

static inline float scalar_cos(float x)
{
    return SCALAR_HAS_FMA ? Sleef_finz_cosf1_u10purecfma(x) : Sleef_cinz_cosf1_u10purec(x);
}

#undef SCALAR_HAS_FMA

#endif
