// SPDX-License-Identifier: Apache-2.0
// bench/fill.c - numbers from Knuth's MMIX generator.
#include "bench/fill.h"

void bench_fill(float *values, size_t count, uint64_t seed, float centre, float scale)
{
    uint64_t random = seed;
    for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        values[i] = centre + scale * (float)(int32_t)(random >> 32) * 0x1p-31f;
    }
}
