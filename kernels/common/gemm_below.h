// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_below.h - a GEMM tile and those below it, for micro-kernels that compute one at a time.
#ifndef FOVEA_KERNELS_COMMON_GEMM_BELOW_H
#define FOVEA_KERNELS_COMMON_GEMM_BELOW_H

#include "kernels/fault.h"
#include "kernels/kernel.h"

static inline void gemm_with_below(const struct fovea_gemm_tile *tile, fovea_gemm_fn *one)
{
    if (tile->below == 0) {
        one(tile);
        return;
    }
    struct fovea_gemm_tile t = *tile;
    for (size_t i = 0; i <= tile->below; i++) {
        one(&t);
        t.a += FOVEA_FAULT_IS(GEMM_BELOW_STAYS) ? 0 : (ptrdiff_t)t.m * t.a_row;
        t.c += (ptrdiff_t)t.m * t.c_row;
    }
}

#endif
