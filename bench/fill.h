// SPDX-License-Identifier: Apache-2.0
// bench/fill.h - the numbers of operands, the same in every run.
#ifndef FOVEA_BENCH_FILL_H
#define FOVEA_BENCH_FILL_H

#include <stddef.h>
#include <stdint.h>

/// Random numbers around `centre`, at most `scale` away from it.
void bench_fill(float *values, size_t count, uint64_t seed, float centre, float scale);

#endif
