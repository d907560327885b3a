// SPDX-License-Identifier: Apache-2.0
// tests/support/weights.h - made-up numbers and packed weights, in memory that ends at an inaccessible page.
#ifndef FOVEA_TESTS_SUPPORT_WEIGHTS_H
#define FOVEA_TESTS_SUPPORT_WEIGHTS_H

#include "fovea/gemm.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"

/// n numbers in [-scale, scale).
static inline float *test_some(size_t n, float scale, uint64_t *random)
{
    float *const x = test_floats(n, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        x[i] = scale * test_float(random);
    return x;
}

/// The blob of a Linear's weight, [outputs, inputs].
static inline const void *test_packed(const struct fovea_engine *engine, const float *weight, size_t inputs,
                                      size_t outputs)
{
    size_t bytes;
    CHECK(!fovea_pack_size(inputs, outputs, &bytes), "size");
    void *const blob = test_memory(bytes, TEST_HIGH);
    CHECK(!fovea_pack(engine, FOVEA_TRANS, inputs, outputs, weight, inputs, blob, bytes), "pack");
    return blob;
}

#endif
