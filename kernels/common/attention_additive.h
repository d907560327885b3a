// SPDX-License-Identifier: Apache-2.0
// kernels/common/attention_additive.h - additive scores (Bahdanau, Cho, Bengio, ICLR 2015): sum of w[c] tanh(q[c] +
// k[c]).
//
// Included after an ISA's vec.h. One function serves both arrangements: lanes are queries and the key is one number at
// a time, or lanes are keys and the query is. A tanh is a call of SLEEF's, about 30 cycles per vector, which hides
// everything else.
#ifndef FOVEA_KERNELS_COMMON_ATTENTION_ADDITIVE_H
#define FOVEA_KERNELS_COMMON_ATTENTION_ADDITIVE_H

#include "kernels/fault.h"

/// s[0..n) = the scores of the first n of 16 lanes. Lane l reads panel[c * panel_row + l]; the other operand is x[c *
/// step].
static inline void attention_additive(size_t dim, const float *panel, size_t panel_row, const float *x, ptrdiff_t step,
                                      const float *w, float *s, size_t n)
{
    for (size_t i = 0; i < n; i += FV_LANES) {
        fv_f32 sum = fv_zero();
        for (size_t c = 0; c < dim; c++) {
            const fv_f32 t = fv_tanh(fv_add(fv_load(panel + c * panel_row + i), fv_set1(x[(ptrdiff_t)c * step])));
            sum = FOVEA_FAULT_IS(ADDITIVE_MUL_ADD) ? fv_add(fv_mul(fv_set1(w[c]), t), sum)
                                                   : fv_fma(fv_set1(w[c]), t, sum);
        }
        fv_store_tail(s + i, sum, n - i < FV_LANES ? n - i : FV_LANES);
    }
}

#endif
