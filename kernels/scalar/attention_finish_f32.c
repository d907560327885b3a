// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention_finish_f32.c - from an attention state to the output and the LSE, the definition
// (docs/numerics.md section 3).
#include "kernels/kernel.h"
#include "kernels/scalar/sleef.h"

#include <math.h>

void fovea_attention_finish_f32_scalar(const struct fovea_attention_state *state, float *lse)
{
    for (size_t r = 0; r < state->rows; r++) {
        const float l = state->l[r];
        const float reciprocal = l == 0.0f ? 0.0f : 1.0f / l;
        for (size_t c = 0; c < state->v_dim; c++) {
            float *const o = state->o + (ptrdiff_t)r * state->o_row + (ptrdiff_t)c * state->o_col;
            *o = *o * reciprocal + 0.0f; // -0 becomes +0
        }
        if (lse) {
            lse[r] = l == 0.0f ? -INFINITY : state->m[r] + scalar_ln(l);
        }
    }
}
