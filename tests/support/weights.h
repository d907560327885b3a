// SPDX-License-Identifier: Apache-2.0
// tests/support/weights.h - made-up numbers and packed weights, in memory that ends at an inaccessible page.
#ifndef FOVEA_TESTS_SUPPORT_WEIGHTS_H
#define FOVEA_TESTS_SUPPORT_WEIGHTS_H

#include "fovea/mha.h"
#include "tests/support/memory.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdbool.h>

/// n numbers in [-scale, scale).
static inline float *test_some(size_t n, float scale, uint64_t *random)
{
    float *const x = test_floats(n, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        x[i] = scale * test_float(random);
    return x;
}

/// n numbers in [-1, 1), a function of seed.
static inline float *test_seeded(size_t n, uint64_t seed)
{
    return test_some(n, 1, &seed);
}

/// The blob of a matrix of k x n, as fovea_pack takes it.
static inline const void *test_pack(const struct fovea_engine *engine, enum fovea_transpose trans, size_t k, size_t n,
                                    const float *b, size_t ld)
{
    size_t bytes = 0;
    CHECK(!fovea_pack_size(k, n, &bytes), "the size of %zu x %zu", k, n);
    void *const blob = test_memory(bytes, TEST_HIGH);
    const enum fovea_status status = fovea_pack(engine, trans, k, n, b, ld, blob, bytes);
    CHECK(!status, "packing %zu x %zu: %s", k, n, fovea_status_string(status));
    return blob;
}

/// The blob of a Linear's weight, [outputs, inputs].
static inline const void *test_packed(const struct fovea_engine *engine, const float *weight, size_t inputs,
                                      size_t outputs)
{
    return test_pack(engine, FOVEA_TRANS, inputs, outputs, weight, inputs);
}

/// A Linear that keeps the size of its inputs, roughly.
static inline struct fovea_linear test_linear(const struct fovea_engine *engine, size_t inputs, size_t outputs,
                                              bool bias, uint64_t *random)
{
    const float *const weight = test_some(inputs * outputs, 2 / sqrtf((float)inputs), random);
    return (struct fovea_linear){.weight = test_packed(engine, weight, inputs, outputs),
                                 .bias = bias ? test_some(outputs, 0.2f, random) : NULL};
}

#endif
