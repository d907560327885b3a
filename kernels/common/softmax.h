// SPDX-License-Identifier: Apache-2.0
// kernels/common/softmax.h - what softmax and log-softmax share: the row maximum and p = exp2((x - ms) * ln2e).
//
// Included after an ISA's vec.h.
#ifndef FOVEA_KERNELS_COMMON_SOFTMAX_H
#define FOVEA_KERNELS_COMMON_SOFTMAX_H

#include "kernels/common/exp2.h"
#include "kernels/common/rowsum.h"
#include "kernels/fault.h"

#include <math.h>

/// The larger one: a NaN in x leaves the lane, or makes it a NaN; then all of the row becomes NaN as well.
static inline fv_f32 softmax_max_step(fv_f32 lane, fv_f32 *x, fv_f32 unused)
{
    (void)unused;
    return fv_most(*x, lane);
}

static inline float softmax_max(float a, float b)
{
    return b > a ? b : a;
}

/// ms: the row maximum, or 0 if that is -inf (n = 0, or nothing but -inf and NaN). The order of a maximum is free, so
/// four vectors fold the row on every ISA: compare and select are a chain of 4 to 8 cycles, and AVX-512's single vector
/// of sixteen lanes would make this pass as long as that of exp2.
static inline float softmax_shift(size_t n, const float *x)
{
    enum { VECS = 4 };
    fv_f32 max[VECS];
    for (size_t v = 0; v < VECS; v++)
        max[v] = fv_set1(-INFINITY);
    fv_row_fold(n, x, fv_zero(), softmax_max_step, VECS, max, NULL);
    for (size_t v = FV_VECS; v < VECS; v++)
        max[v % FV_VECS] = softmax_max_step(max[v % FV_VECS], &max[v], fv_zero());
    const float m = fv_row_tree(max, softmax_max);
    return m == -INFINITY && !FOVEA_FAULT_IS(ROW_ALL_HIDDEN) ? 0.0f : m;
}

/// Turns x into p and adds it to the lane.
static inline fv_f32 softmax_sum_step(fv_f32 lane, fv_f32 *x, fv_f32 shift)
{
    const fv_f32 ln2e = fv_set1(fv_ln2e);
    // x <= shift in lanes that exist; fv_row_fold discards the others.
    *x = fv_exp2_to_128(fv_mul(fv_sub(*x, shift), ln2e));
    return fv_add(lane, *x);
}

#endif
