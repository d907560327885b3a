// SPDX-License-Identifier: Apache-2.0
// kernels/common/gemm_end.h - applies struct fovea_gemm_terms to the sums of tiles written with intrinsics before they
// are stored: in registers, some vectors of a row at a time.
//
// Included after an ISA's vec.h.
#ifndef FOVEA_KERNELS_COMMON_GEMM_END_H
#define FOVEA_KERNELS_COMMON_GEMM_END_H

#include "kernels/common/activation.h"
#include "kernels/common/unroll.h"
#include "kernels/fault.h"

/// Applies the terms to so many vectors of sums of row i, from column j on, which are stored at c.
static inline __attribute__((always_inline)) void gemm_end_row(const struct fovea_gemm_terms *t, size_t i, size_t j,
                                                               const float *c, fv_f32 *sums, int vectors)
{
    const float *const residual =
        t->residual != NULL ? t->residual + (ptrdiff_t)i * t->residual_row + (ptrdiff_t)j : NULL;
    FV_UNROLL
    for (int v = 0; v < vectors; v++) {
        fv_f32 x = sums[v];
        x = t->alpha != 1.0f ? fv_mul(x, fv_set1(t->alpha)) : x;
        x = t->beta != 0.0f ? fv_fma(fv_set1(t->beta), fv_load(c + v * FV_LANES), x) : x;
        x = t->bias != NULL ? fv_add(x, fv_load(t->bias + j + v * FV_LANES)) : x;
        x = t->relu ? (FOVEA_FAULT_IS(GEMM_TERMS_DROP_NAN) ? fv_max(x, fv_zero()) : fv_relu(x)) : x;
        x = residual != NULL ? fv_add(x, fv_load(residual + v * FV_LANES)) : x;
        sums[v] = x;
    }
}

#endif
