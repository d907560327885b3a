// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/half.h - what 16-bit elements are as f32, and f32 as these: definitions.
#ifndef FOVEA_KERNELS_SCALAR_HALF_H
#define FOVEA_KERNELS_SCALAR_HALF_H

#include "kernels/kernel.h"
#include <math.h>
#include <string.h>

/// bfloat16 is the upper half of an f32.
static inline float from_bf16(uint16_t element)
{
    const uint32_t bits = (uint32_t)element << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/// IEEE binary16: 5 bits of exponent, 10 of fraction.
static inline float from_f16(uint16_t element)
{
    enum { FRACTION = 10, EXPONENT = 31, MORE = 23 - FRACTION, BIAS = 127 - 15, F32_EXPONENT = 255 };
    const uint32_t sign = (uint32_t)(element & 0x8000) << 16, exponent = element >> FRACTION & EXPONENT;
    const uint32_t fraction = element & ((1u << FRACTION) - 1);
    if (exponent == 0) { // zero and denormals: multiples of 2^-24
        const float magnitude = (float)fraction * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    const uint32_t bits = sign | (exponent == EXPONENT ? F32_EXPONENT : exponent + BIAS) << 23 | fraction << MORE;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/// To nearest, ties to even: the sum of the lower 16 bits and of one less than half of what they can be, or of half if
/// the bit above them is set, carries into the upper ones. A carry into the exponent is right, too. A NaN is cut; the
/// quiet bit keeps it from becoming an infinity.
static inline uint16_t to_bf16(float x)
{
    enum { LOWER = 16, MOST_BELOW_HALF = 0x7FFF, QUIET = 0x40 };
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x)) {
        return (uint16_t)(bits >> LOWER | QUIET);
    }
    return (uint16_t)((bits + MOST_BELOW_HALF + (bits >> LOWER & 1)) >> LOWER);
}

/// The same with another exponent. Below 2^-14, the least normal number, an element is a multiple of 2^-24.
static inline uint16_t to_f16(float x)
{
    enum { FRACTION = 10, MORE = 23 - FRACTION, MOST_BELOW_HALF = (1 << (MORE - 1)) - 1, BIAS = 127 - 15 };
    enum { SIGN = 0x8000, INFINITE = 0x7C00, QUIET = 0x200 };
    const float magnitude = fabsf(x);
    uint32_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    uint32_t element = ((bits + MOST_BELOW_HALF + (bits >> MORE & 1)) >> MORE) - ((uint32_t)BIAS << FRACTION);
    if (isnan(x)) {
        element = INFINITE | QUIET | (bits >> MORE & ((1u << FRACTION) - 1));
    } else if (magnitude < 0x1p-14f) {
        element = (uint32_t)rintf(magnitude * 0x1p24f);
    } else if (magnitude >= 0x1.ffep+15f) { // the largest number and half of its last place
        element = INFINITE;
    }
    return (uint16_t)(signbit(x) ? element | SIGN : element);
}

#endif
