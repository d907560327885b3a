// SPDX-License-Identifier: Apache-2.0
// tests/unit/refuse_nn.h - weights and caches for what multi-head attention and layers must refuse.
#ifndef FOVEA_TESTS_UNIT_REFUSE_NN_H
#define FOVEA_TESTS_UNIT_REFUSE_NN_H

#include "tests/support/engines.h"
#include "tests/unit/refuse.h"

static struct fovea_engine *engine;

enum { B = 2, L = 5, CAPACITY = 20, W = 24, H = 3, D = 8, DV = 4, FFN = 40 };

static inline float *some(size_t n)
{
    float *const x = test_floats(n, TEST_HIGH);
    for (size_t i = 0; i < n; i++)
        x[i] = 0.1f * (float)(1 + i % 7);
    return x;
}

/// A Linear's packed weight; 64 bytes more than it needs.
static inline char *linear(size_t inputs, size_t outputs)
{
    size_t bytes = 0;
    CHECK(!fovea_pack_size(inputs, outputs, &bytes), "size");
    char *const blob = test_memory(bytes + 64, TEST_HIGH);
    CHECK(!fovea_pack(engine, FOVEA_TRANS, inputs, outputs, some(inputs * outputs), inputs, blob, bytes), "pack");
    return blob;
}

static inline struct fovea_mha_weights mha_weights(void)
{
    return (struct fovea_mha_weights){.q = {linear(W, H * D), NULL},
                                      .k = {linear(W, H * D), NULL},
                                      .v = {linear(W, H * DV), NULL},
                                      .o = {linear(H * DV, W), NULL}};
}

static inline struct fovea_kv_cache make_cache(void)
{
    struct fovea_kv_cache c = {
        .struct_size = sizeof c, .batch = B, .kv_heads = H, .capacity = CAPACITY, .qk_dim = D, .v_dim = DV};
    size_t k, v;
    CHECK(!fovea_kv_cache_size(&c, &k, &v), "size");
    c.k = some(k);
    c.v = some(v);
    return c;
}

/// A weight of such a call that is wrong. The caller has weights and bad_weights besides.
#define BAD_WEIGHT(change, status) BAD_ARGS((bad_weights = weights, change, wrong.weights = &bad_weights), status)

#endif
