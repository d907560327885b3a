// SPDX-License-Identifier: Apache-2.0
// tests/check/half.h - numbers of 16 bits, from the definition of their formats: the oracle of the kernels that widen
// them and of those that round to them.
#ifndef FOVEA_TESTS_CHECK_HALF_H
#define FOVEA_TESTS_CHECK_HALF_H

#include "fovea/type.h"
#include <math.h>
#include <stdint.h>

/// Bits of the exponent; those of the fraction are the others of 15.
static inline int half_exponent_bits(enum fovea_type type)
{
    return type == FOVEA_BF16 ? 8 : 5;
}

/// The number that an element stands for: (-1)^s 2^(e - bias) 1.f, or where e is 0 (-1)^s 2^(1 - bias) 0.f; where all
/// bits of e are set an infinity or, unless f is 0, a NaN.
static inline float half_value(enum fovea_type type, uint16_t element)
{
    const int exponent_bits = half_exponent_bits(type), fraction_bits = 15 - exponent_bits;
    const int most = (1 << exponent_bits) - 1, bias = most / 2, exponent = element >> fraction_bits & most;
    const double fraction = ldexp(element & ((1 << fraction_bits) - 1), -fraction_bits);
    const double magnitude = exponent == most ? (fraction != 0 ? NAN : INFINITY)
                             : exponent == 0  ? ldexp(fraction, 1 - bias)
                                              : ldexp(1 + fraction, exponent - bias);
    return (float)(element >> 15 != 0 ? -magnitude : magnitude);
}

/// x rounded toward zero; beyond the largest number it is infinite.
static inline uint16_t half_of(enum fovea_type type, float x)
{
    const int exponent_bits = half_exponent_bits(type), fraction_bits = 15 - exponent_bits;
    const int most = (1 << exponent_bits) - 1, bias = most / 2;
    const unsigned sign = signbit(x) ? 1u << 15 : 0;
    const double magnitude = fabs((double)x);
    if (isnan(x))
        return (uint16_t)(sign | ((1u << 15) - 1));
    if (isinf(x) || magnitude >= ldexp(1, most - bias))
        return (uint16_t)(sign | (unsigned)most << fraction_bits);
    if (magnitude < ldexp(1, 1 - bias))
        return (uint16_t)(sign | (unsigned)ldexp(magnitude, bias - 1 + fraction_bits));
    const int exponent = ilogb(magnitude);
    const unsigned fraction = (unsigned)ldexp(ldexp(magnitude, -exponent) - 1, fraction_bits);
    return (uint16_t)(sign | (unsigned)(exponent + bias) << fraction_bits | fraction);
}

/// The magnitude of an element in f64; for an infinity the number that would follow the largest one.
static inline double half_magnitude(enum fovea_type type, uint16_t element)
{
    const double value = fabs((double)half_value(type, element));
    return isinf(value) ? ldexp(1, 1 << (half_exponent_bits(type) - 1)) : value;
}

/// x rounded to the nearer of the two elements around it, or to the even one if both are as near. Half of the last
/// place beyond the largest number begins infinity. Any NaN for a NaN.
static inline uint16_t half_nearest(enum fovea_type type, float x)
{
    const uint16_t near = half_of(type, x), far = (uint16_t)(near + 1); // toward and away from zero
    if (isnan(x) || isinf(half_value(type, near)))
        return near;
    const double below = fabs((double)x) - half_magnitude(type, near);
    const double above = half_magnitude(type, far) - fabs((double)x);
    return below < above || (below == above && near % 2 == 0) ? near : far;
}

#endif
