// SPDX-License-Identifier: Apache-2.0
// kernels/common/unary.h - y[i] = f(x[i]): the one loop of every elementwise kernel.
//
// Included after an ISA's vec.h. f is a constant where this is called, so it is inlined and no call is left in the
// loop. A vector is loaded whole before it is stored, so y may be x.
#ifndef FOVEA_KERNELS_COMMON_UNARY_H
#define FOVEA_KERNELS_COMMON_UNARY_H

#include "kernels/fault.h"

static inline __attribute__((always_inline)) void fv_unary(size_t n, const float *x, float *y, fv_f32 (*f)(fv_f32))
{
    size_t i = 0;
    for (; i + FV_LANES <= n; i += FV_LANES)
        fv_store(y + i, f(fv_load(x + i)));
    if (i < n)
        fv_store_tail(y + i, f(fv_load_tail(x + i, n - i)), n - i - FOVEA_FAULT_IS(UNARY_TAIL_LANE));
}

#endif
