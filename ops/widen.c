// SPDX-License-Identifier: Apache-2.0
// ops/widen.c - elements of any type as f32: the last few of 16 bits, which the kernels take in groups, pass through a
// buffer.
#include "ops/widen.h"

#include <string.h>

void fovea_widen(const struct fovea_kernels *kernels, enum fovea_type type, size_t n, const void *from, float *to)
{
    if (type == FOVEA_F32) {
        memcpy(to, from, n * sizeof *to);
        return;
    }
    fovea_widen_fn *const widen = fovea_widen_of(kernels, type)->run;
    const uint16_t *const halves = from;
    const size_t whole = n / FOVEA_PANEL * FOVEA_PANEL;
    uint16_t last[FOVEA_PANEL] = {0};
    float wide[FOVEA_PANEL];
    widen(whole, halves, to);
    if (whole == n) {
        return;
    }
    memcpy(last, halves + whole, (n - whole) * sizeof *last);
    widen(FOVEA_PANEL, last, wide);
    memcpy(to + whole, wide, (n - whole) * sizeof *wide);
}
