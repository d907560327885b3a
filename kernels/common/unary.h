// SPDX-License-Identifier: Apache-2.0
// kernels/common/unary.h - y[i] = f(x[i]): the one loop of every elementwise kernel.
//
// Included after an ISA's vec.h. f must be a constant at the call, so that it is inlined and no call is left in the
// loop. Vectors are loaded whole before they are stored, so y may be x.
#ifndef FOVEA_KERNELS_COMMON_UNARY_H
#define FOVEA_KERNELS_COMMON_UNARY_H

#include "kernels/common/unroll.h"
#include "kernels/fault.h"

/// Elements that are computed side by side, whole vectors, unless a variant defines another number.
#ifndef FV_COLUMNS
#define FV_COLUMNS (FV_REGISTERS / 8 * FV_LANES)
#endif
/// The same in vectors. Functions are long dependency chains: if computed one after another, a scheduler holds only one
/// or two of them at a time.
enum { FV_BESIDE = FV_COLUMNS / FV_LANES };

/// x[j] = f(x[j]) for n x, n a constant of at most FV_BESIDE.
typedef void fv_each(fv_f32 *x, int n);

/// Defines f_each for an f that takes one vector.
#define FV_EACH(f)                                                                                                     \
    static inline __attribute__((always_inline)) void f##_each(fv_f32 *x, int n)                                       \
    {                                                                                                                  \
        FV_UNROLL                                                                                                      \
        for (int j = 0; j < n; j++) {                                                                                  \
            x[j] = f(x[j]);                                                                                            \
        }                                                                                                              \
    }

static inline __attribute__((always_inline)) void fv_unary(size_t n, const float *x, float *y, fv_each *f)
{
    fv_f32 v[FV_BESIDE];
    size_t i = 0;
    for (; i + FV_BESIDE * FV_LANES <= n; i += FV_BESIDE * FV_LANES) {
        FV_UNROLL
        for (int j = 0; j < FV_BESIDE; j++)
            v[j] = fv_load(x + i + (size_t)j * FV_LANES);
        f(v, FV_BESIDE);
        FV_UNROLL
        for (int j = 0; j < FV_BESIDE; j++)
            fv_store(y + i + (size_t)j * FV_LANES, v[j]);
    }
    for (; i + FV_LANES <= n; i += FV_LANES) {
        v[0] = fv_load(x + i);
        f(v, 1);
        fv_store(y + i, v[0]);
    }
    if (i < n) {
        v[0] = fv_load_tail(x + i, n - i);
        f(v, 1);
        fv_store_tail(y + i, v[0], n - i - FOVEA_FAULT_IS(UNARY_TAIL_LANE));
    }
}

#endif
