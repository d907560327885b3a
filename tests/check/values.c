// SPDX-License-Identifier: Apache-2.0
// tests/check/values.c - the random numbers, sizes and values of the cases.
#include "tests/check/check.h"

#include <float.h>
#include <math.h>
#include <string.h>

uint64_t check_next(struct check_rng *rng)
{
    uint64_t z = (rng->state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

size_t check_below(struct check_rng *rng, size_t n)
{
    return n == 0 ? 0 : (size_t)((check_next(rng) >> 32) * (uint64_t)n >> 32);
}

bool check_chance(struct check_rng *rng, unsigned percent)
{
    return check_below(rng, 100) < percent;
}

size_t check_size(struct check_rng *rng, size_t limit)
{
    // Ends of vectors (4, 8, 16), panels (16), tiles (6, 48, 64), chunks (128) and the sizes beside them; primes.
    static const uint16_t edges[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 13,  15,  16,  17,  23,  31,  32, 33,
                                     37, 47, 48, 49, 61, 63, 64, 65, 95, 96, 97, 127, 128, 129, 251, 255, 256, 257};
    if (check_chance(rng, 60)) {
        size_t usable = 0;
        while (usable < sizeof edges / sizeof edges[0] && edges[usable] <= limit)
            usable++;
        return edges[check_below(rng, usable)];
    }
    return check_below(rng, limit + 1);
}

float check_uniform(struct check_rng *rng)
{
    return (float)(check_next(rng) >> 40) * 0x1p-23f - 1.0f;
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/// A float whose exponent is one of `count` from `first` (biased), any sign and mantissa.
static float with_exponent(struct check_rng *rng, uint32_t first, uint32_t count)
{
    const uint32_t bits = (uint32_t)check_next(rng);
    const uint32_t exponent = first + (uint32_t)check_below(rng, count);
    return from_bits((bits & 0x807fffffu) | exponent << 23);
}

struct check_source check_source(struct check_rng *rng, float scale)
{
    const enum check_values kind =
        check_chance(rng, 40) ? CHECK_UNIFORM : (enum check_values)check_below(rng, CHECK_VALUES);
    static const float special[] = {-INFINITY, -INFINITY, INFINITY, NAN, -0.0f};
    const bool is_special = kind == CHECK_EQUAL && check_chance(rng, 50);
    const float constant =
        is_special ? special[check_below(rng, sizeof special / sizeof special[0])] : scale * check_uniform(rng);
    return (struct check_source){kind, scale, constant};
}

float check_draw(struct check_rng *rng, const struct check_source *source)
{
    struct check_source s = *source;
    if (s.kind == CHECK_MIXED)
        s.kind = (enum check_values)check_below(rng, CHECK_MIXED);
    const bool one_in_8 = (check_next(rng) & 7) == 0;
    const float sign = check_next(rng) & 1 ? -1.0f : 1.0f;
    switch (s.kind) {
    case CHECK_EQUAL:
        return s.constant;
    case CHECK_HIDDEN:
        return one_in_8 ? s.scale * check_uniform(rng) : -INFINITY;
    case CHECK_MAX:
        return sign * FLT_MAX;
    case CHECK_ZERO:
        return sign * 0.0f;
    case CHECK_DENORMAL:
        return with_exponent(rng, 0, 1);
    case CHECK_WIDE:
        return with_exponent(rng, 0, 255);
    case CHECK_BITS:
        return from_bits((uint32_t)check_next(rng));
    case CHECK_NAN:
        return one_in_8 ? NAN : s.scale * check_uniform(rng);
    case CHECK_INF:
        return one_in_8 ? sign * INFINITY : s.scale * check_uniform(rng);
    default:
        return s.scale * check_uniform(rng);
    }
}

void check_fill(struct check_rng *rng, const struct check_source *source, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = check_draw(rng, source);
}
