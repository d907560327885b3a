// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_draw.h - what the files that draw an attention problem share.
#ifndef FOVEA_TESTS_UNIT_ATTENTION_DRAW_H
#define FOVEA_TESTS_UNIT_ATTENTION_DRAW_H

#include "tests/unit/attention_case.h"

size_t attention_pick(struct check_rng *rng, const uint16_t *values, size_t count);
#define PICK(rng, ...)                                                                                                 \
    attention_pick(rng, (const uint16_t[]){__VA_ARGS__}, sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))

/// n numbers in memory of their own, at either side.
float *attention_floats(struct attention_case *c, size_t n, const struct check_source *source);
/// Numbers of about that size, for which the oracle holds where the case is exact.
struct check_source attention_source(struct attention_case *c, float scale);
/// Everything that hides keys, and the bias.
void attention_draw_masks(struct attention_case *c);

#endif
