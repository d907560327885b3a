// SPDX-License-Identifier: Apache-2.0
// tests/unit/gemm_ends.h - what may become of the sums of a product.
#ifndef FOVEA_TESTS_UNIT_GEMM_ENDS_H
#define FOVEA_TESTS_UNIT_GEMM_ENDS_H

#include "fovea/gemm.h"
#include <stdbool.h>

static const struct end {
    const char *name;
    float alpha, beta;
    enum fovea_activation activation;
    bool residual, in_place, gated, bias;
} ends[] = {
    {.name = "plain", .alpha = 1},
    {.name = "bias and GELU", .alpha = 1, .activation = FOVEA_ACTIVATION_GELU, .bias = true},
    {.name = "alpha and beta", .alpha = 1.5f, .beta = 0.5f},
    {.name = "alpha, beta and ReLU", .alpha = 1.5f, .beta = 0.5f, .activation = FOVEA_ACTIVATION_RELU},
    {.name = "a residual", .alpha = 1, .residual = true},
    {.name = "a residual in place", .alpha = 1, .residual = true, .in_place = true},
    {.name = "pairs, a residual", .alpha = 1, .activation = FOVEA_ACTIVATION_SILU, .gated = true, .residual = true},
};

#endif
