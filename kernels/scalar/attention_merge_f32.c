// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/attention_merge_f32.c - merges two attention states, the definition (docs/numerics.md section 3).
#include "kernels/kernel.h"
#include "kernels/scalar/exp2.h"

#include <stdbool.h>

static bool is_empty(float m, float l)
{
    return m == -INFINITY && l == 0.0f;
}

static float *element(const struct fovea_attention_state *state, size_t r, size_t c)
{
    return state->o + (ptrdiff_t)r * state->o_row + (ptrdiff_t)c * state->o_col;
}

static void copy_row(const struct fovea_attention_state *into, const struct fovea_attention_state *from, size_t r)
{
    for (size_t c = 0; c < into->v_dim; c++) {
        *element(into, r, c) = *element(from, r, c);
    }
    if (into->spread) {
        into->spread[r] = from->spread[r];
        into->top[r] = from->top[r];
    }
    into->l[r] = from->l[r];
    into->m[r] = from->m[r];
}

/// The sum of p x of a row when its maximum becomes ms, before the weights shrink.
static float shifted(const struct fovea_attention_state *state, size_t r, float ms)
{
    const float x = (state->m[r] - ms) * scalar_ln2e;
    return fmaf(x < -127.0f ? -127.0f : x, state->l[r], state->spread[r]);
}

static void merge_row(const struct fovea_attention_state *into, const struct fovea_attention_state *from, size_t r)
{
    const float m = from->m[r] > into->m[r] ? from->m[r] : into->m[r];
    const float ms = m == -INFINITY ? 0.0f : m;
    const float a = scalar_exp2((into->m[r] - ms) * scalar_ln2e);
    const float b = scalar_exp2((from->m[r] - ms) * scalar_ln2e);
    for (size_t c = 0; c < into->v_dim; c++) {
        float *const o = element(into, r, c);
        *o = fmaf(*o, a, *element(from, r, c) * b);
    }
    if (into->spread) {
        into->spread[r] = fmaf(shifted(into, r, ms), a, shifted(from, r, ms) * b);
        into->top[r] = from->m[r] > into->m[r] ? from->top[r] : into->top[r];
    }
    into->l[r] = fmaf(into->l[r], a, from->l[r] * b);
    into->m[r] = m;
}

void fovea_attention_merge_f32_scalar(const struct fovea_attention_state *into,
                                      const struct fovea_attention_state *from)
{
    for (size_t r = 0; r < into->rows; r++) {
        if (is_empty(from->m[r], from->l[r])) {
            continue;
        }
        if (is_empty(into->m[r], into->l[r])) {
            copy_row(into, from, r);
        } else {
            merge_row(into, from, r);
        }
    }
}
