// SPDX-License-Identifier: Apache-2.0
// tests/check/oracle_gemm.c - float64 GEMM tile and epilogue, with the bounds of docs/numerics.md section 2.
#include "tests/check/oracle.h"
#include "tests/check/bounds.h"

#include <math.h>

struct check_exact oracle_gemm(const struct fovea_gemm_tile *tile, const float *c, size_t i, size_t j)
{
    double sum = 0, magnitude = 0;
    for (size_t p = 0; p < tile->k; p++) {
        const double a = tile->a[(ptrdiff_t)i * tile->a_row + (ptrdiff_t)p * tile->a_k];
        const double b = tile->b[(ptrdiff_t)(j / FOVEA_PANEL) * tile->b_panel + (ptrdiff_t)p * tile->b_k +
                                 (ptrdiff_t)(j % FOVEA_PANEL)];
        sum += a * b;
        magnitude += fabs(a * b);
    }
    // ADD begins its k roundings at C; RESCALE has one more, of fma(C, scale, acc).
    double old = 0;
    if (tile->mode == FOVEA_GEMM_ADD)
        old = c[(ptrdiff_t)i * tile->c_row + (ptrdiff_t)j];
    else if (tile->mode == FOVEA_GEMM_RESCALE)
        old = (double)c[(ptrdiff_t)i * tile->c_row + (ptrdiff_t)j] * (double)tile->scale[j];
    const double roundings = (double)tile->k + (tile->mode == FOVEA_GEMM_RESCALE);
    return (struct check_exact){sum + old, check_gamma(roundings) * (magnitude + fabs(old))};
}

/// alpha * acc + beta * C + bias for column j of acc.
static struct check_exact exact_sum(const struct fovea_gemm_epilogue *e, float c, size_t i, size_t j)
{
    struct check_exact v = {(double)e->alpha * (double)e->acc[(ptrdiff_t)i * e->acc_row + (ptrdiff_t)j], 0};
    v.bound = CHECK_U * fabs(v.value);
    if (e->beta != 0) {
        v.value += (double)e->beta * (double)c;
        v.bound += CHECK_U * fabs(v.value);
    }
    if (e->bias) {
        v.value += (double)e->bias[j];
        v.bound += CHECK_U * fabs(v.value);
    }
    return v;
}

struct check_exact oracle_epilogue(const struct fovea_gemm_epilogue *e, float c, size_t i, size_t j)
{
    struct check_exact v = exact_sum(e, c, i, e->gated ? 2 * j : j);
    if (e->act != FOVEA_ACT_NONE) {
        const struct check_exact a = oracle_activation(e->act, v.value);
        v = (struct check_exact){a.value, a.bound + 1.13 * v.bound}; // no activation is steeper than gelu's 1.129
    }
    if (e->gated) {
        const struct check_exact gate = v, u = exact_sum(e, c, i, 2 * j + 1);
        v.value = gate.value * u.value;
        v.bound = gate.bound * (fabs(u.value) + u.bound) + fabs(gate.value) * u.bound + CHECK_U * fabs(v.value);
    }
    if (e->residual) {
        v.value += (double)e->residual[(ptrdiff_t)i * e->residual_row + (ptrdiff_t)j];
        v.bound += CHECK_U * fabs(v.value);
    }
    v.bound *= 1 + 16 * CHECK_U; // the roundings are relative to rounded values
    v.bound += 0x1p-149;
    return v;
}
