// SPDX-License-Identifier: Apache-2.0
// tests/unit/attention_half.h - keys and values of a case rounded to numbers of 16 bits, and copied as such.
#ifndef FOVEA_TESTS_UNIT_ATTENTION_HALF_H
#define FOVEA_TESTS_UNIT_ATTENTION_HALF_H

#include "tests/check/half.h"
#include "tests/support/memory.h"
#include "tests/unit/attention_case.h"

/// Elements up to the last one of K or of V of a case.
static inline size_t attention_extent(const struct attention_case *c, bool of_k)
{
    const struct fovea_strides s = of_k ? c->k : c->v;
    const size_t dim = of_k ? c->desc.qk_dim : c->desc.v_dim, len = c->args.kv_len;
    if (c->args.batch == 0 || c->desc.kv_heads == 0 || len == 0)
        return 0;
    const size_t keys =
        of_k && c->desc.k_layout == FOVEA_K_PANELS ? (len + 15) / 16 * 16 * dim : (len - 1) * s.row + dim;
    return (c->args.batch - 1) * s.batch + (c->desc.kv_heads - 1) * s.head + keys;
}

/// Rounds n elements to numbers of a type of 16 bits.
static inline void attention_round(enum fovea_type type, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = half_value(type, half_of(type, x[i]));
}

/// Rounds K and V of a case.
static inline void attention_round_case(struct attention_case *c, enum fovea_type type)
{
    attention_round(type, (float *)(uintptr_t)c->args.k, attention_extent(c, true));
    attention_round(type, (float *)(uintptr_t)c->args.v, attention_extent(c, false));
}

/// A copy of n elements, as 16 bits each.
static inline uint16_t *attention_halves(enum fovea_type type, const float *x, size_t n)
{
    uint16_t *const halves = test_memory(n * sizeof *halves, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        halves[i] = half_of(type, x[i]);
    return halves;
}

#endif
