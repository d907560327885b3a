// SPDX-License-Identifier: Apache-2.0
// tests/support/pack.h - weights rounded to a type, and packed.
#ifndef FOVEA_TESTS_SUPPORT_PACK_H
#define FOVEA_TESTS_SUPPORT_PACK_H

#include "tests/check/half.h"
#include "tests/support/memory.h"
#include "tests/support/s8.h"
#include "tests/support/test.h"

/// Rounds a dense k x n operand to a type, in place, and packs it. Its f32 are then the numbers of the blob.
static inline void test_pack_as(const struct fovea_engine *engine, enum fovea_type type, enum fovea_transpose trans,
                                size_t k, size_t n, float *b, void *blob, size_t bytes)
{
    const size_t ld = trans == FOVEA_TRANS ? k : n;
    if (type == FOVEA_S8) {
        s8_round(trans, k, n, b, ld);
        CHECK(!fovea_pack_s8(engine, FOVEA_F32, trans, k, n, b, ld, blob, bytes), "pack s8");
        return;
    }
    const bool wide = type == FOVEA_F32;
    uint16_t *const halves = wide ? NULL : test_memory(k * n * sizeof *halves, TEST_HIGH);
    for (size_t i = 0; i < k * n && !wide; i++) {
        halves[i] = half_of(type, b[i]);
        b[i] = half_value(type, halves[i]);
    }
    CHECK(!fovea_pack_typed(engine, type, trans, k, n, wide ? (const void *)b : halves, ld, blob, bytes), "pack");
}

#endif
