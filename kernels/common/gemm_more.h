// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_more.h - a GEMM tile and those after it, for micro-kernels that compute one at a time.
#ifndef FOVEA_KERNELS_COMMON_GEMM_MORE_H
#define FOVEA_KERNELS_COMMON_GEMM_MORE_H

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

static inline void gemm_with_more(const struct fovea_gemm_tile *tile, fovea_gemm_fn *one)
{
    if (tile->more == 0) {
        gemm_to_the_end(tile, one);
        return;
    }
    struct fovea_gemm_tile t = *tile;
    for (size_t i = 0; i <= tile->more; i++) {
        gemm_to_the_end(&t, one);
        t.a += FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : t.a_next;
        t.b += FOVEA_FAULT_IS(GEMM_BESIDE_STAYS) ? 0 : t.b_next;
        t.c += t.c_next;
    }
}

#endif
