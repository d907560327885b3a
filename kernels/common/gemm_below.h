// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_below.h - a GEMM tile and those below it, for micro-kernels that compute one at a time.
#ifndef FOVEA_KERNELS_COMMON_GEMM_BELOW_H
#define FOVEA_KERNELS_COMMON_GEMM_BELOW_H

#include "kernels/fault.h"
#include "kernels/kernel.h"

/// One tile; where B ends, its last step is a second one on a copy of n <= 48 elements.
static inline void gemm_to_the_end(const struct fovea_gemm_tile *tile, fovea_gemm_fn *one)
{
    if (tile->b_ends == 0) {
        one(tile);
        return;
    }
    struct fovea_gemm_tile t = *tile;
    t.k--;
    one(&t);
    float last[3 * FOVEA_PANEL] = {0};
    for (size_t j = 0; j < t.n; j++) {
        last[j] = t.b[(ptrdiff_t)t.k * t.b_k + (ptrdiff_t)j];
    }
    t.a += (ptrdiff_t)t.k * t.a_k;
    t.b = last;
    t.b_k = FOVEA_PANEL;
    t.k = 1;
    t.mode = FOVEA_GEMM_ADD;
    one(&t);
}

static inline void gemm_with_below(const struct fovea_gemm_tile *tile, fovea_gemm_fn *one)
{
    if (tile->below == 0) {
        gemm_to_the_end(tile, one);
        return;
    }
    struct fovea_gemm_tile t = *tile;
    for (size_t i = 0; i <= tile->below; i++) {
        gemm_to_the_end(&t, one);
        t.a += FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : (ptrdiff_t)t.m * t.a_row;
        t.c += (ptrdiff_t)t.m * t.c_row;
    }
}

#endif
