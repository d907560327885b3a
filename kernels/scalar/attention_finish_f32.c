// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention_finish_f32.c - from an attention state to the output and the LSE, the definition
// (docs/numerics.md section 3).
#include "kernels/kernel.h"
#include "kernels/scalar/exp2.h"
#include "kernels/scalar/sleef.h"

#include <math.h>

/// m and l of a row after merging its sink; O is to be multiplied by factor, or is ignored.
struct ending {
    float m, l, factor;
    float spread; ///< the sink's addend to factor * (the row's spread)
    int nothing;
};

static struct ending end_row(float m, float l, float sink)
{
    if (sink == -INFINITY) {
        return (struct ending){m, l, 1.0f, 0.0f, 0};
    }
    if (m == -INFINITY && l == 0.0f) {
        return (struct ending){sink, 1.0f, 0.0f, 0.0f, 1};
    }
    const float most = sink > m ? sink : m;
    const float base = most == -INFINITY ? 0.0f : most;
    const float x = (sink - base) * scalar_ln2e;
    const float a = scalar_exp2((m - base) * scalar_ln2e), b = scalar_exp2(x);
    return (struct ending){most, fmaf(l, a, b), a, (x < -127.0f ? -127.0f : x) * b, 0};
}

/// Entropy and largest weight of row r.
static void finish_statistics(const struct fovea_attention_state *state, size_t r, const struct ending *row,
                              float reciprocal)
{
    const float ln2 = 0x1.62e43p-1f, base = row->m == -INFINITY ? 0.0f : row->m;
    const float x = (state->m[r] - base) * scalar_ln2e;
    const float shifted = fmaf(x < -127.0f ? -127.0f : x, state->l[r], state->spread[r]);
    const float spread = row->nothing ? 0.0f : fmaf(shifted, row->factor, row->spread);
    const int none = row->l == 0.0f;
    state->spread[r] = none ? 0.0f : fmaf(-ln2, spread * reciprocal, scalar_ln(row->l));
    state->largest[r] = none ? 0.0f : row->factor * reciprocal;
    state->top[r] = none || row->nothing ? UINT32_MAX : state->top[r];
}

void fovea_attention_finish_f32_scalar(const struct fovea_attention_state *state, const float *sinks, float *lse)
{
    for (size_t r = 0; r < state->rows; r++) {
        const struct ending row = end_row(state->m[r], state->l[r], sinks ? sinks[r] : -INFINITY);
        const float reciprocal = row.l == 0.0f ? 0.0f : 1.0f / row.l;
        for (size_t c = 0; c < state->v_dim; c++) {
            float *const o = state->o + (ptrdiff_t)r * state->o_row + (ptrdiff_t)c * state->o_col;
            const float sum = row.nothing ? 0.0f : *o * row.factor;
            *o = sum * reciprocal + 0.0f; // turns -0 into +0
        }
        if (state->spread) {
            finish_statistics(state, r, &row, reciprocal);
        }
        if (lse) {
            lse[r] = row.l == 0.0f ? -INFINITY : row.m + scalar_ln(row.l);
        }
    }
}
