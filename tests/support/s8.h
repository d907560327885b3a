// SPDX-License-Identifier: Apache-2.0
// tests/support/s8.h - what elements become that are packed as 8-bit integers, in float64: the oracle of fovea_pack_s8.
#ifndef FOVEA_TESTS_SUPPORT_S8_H
#define FOVEA_TESTS_SUPPORT_S8_H

#include "fovea/gemm.h"
#include <math.h>

enum { S8_GROUP = 64, S8_MOST = 127, S8_BITS = 15 };

/// The nearest number of 15 bits to a normal one, or 0.
static inline float s8_nearest(float x)
{
    int exponent = 0;
    const double fraction = frexp(x, &exponent);
    return (float)ldexp(rint(ldexp(fraction, S8_BITS)), exponent - S8_BITS);
}

/// The scale of elements of which `most` is the largest magnitude.
static inline float s8_scale(float most)
{
    return s8_nearest(most / S8_MOST);
}

/// Element [p,j] of a k x n operand.
static inline size_t s8_at(enum fovea_transpose trans, size_t ld, size_t p, size_t j)
{
    return trans == FOVEA_TRANS ? j * ld + p : p * ld + j;
}

/// Rounds a k x n operand as packing does. What is packed of the result is the same numbers.
static inline void s8_round(enum fovea_transpose trans, size_t k, size_t n, float *b, size_t ld)
{
    for (size_t j = 0; j < n; j++)
        for (size_t first = 0; first < k; first += S8_GROUP) {
            const size_t end = k - first < S8_GROUP ? k : first + S8_GROUP;
            float most = 0;
            for (size_t p = first; p < end; p++)
                most = fmaxf(most, fabsf(b[s8_at(trans, ld, p, j)]));
            const float scale = s8_scale(most);
            for (size_t p = first; p < end; p++) {
                float *const x = &b[s8_at(trans, ld, p, j)];
                const double q = scale != 0 ? rint((double)(*x / scale)) : 0;
                *x = (float)(fmin(fmax(q, -S8_MOST), S8_MOST) * (double)scale);
            }
        }
}

#endif
