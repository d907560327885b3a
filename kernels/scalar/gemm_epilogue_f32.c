// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_epilogue_f32.c - the end of a GEMM, the definition (docs/numerics.md section 2, steps 1 to 5).
#include "kernels/kernel.h"
#include "kernels/scalar/activation.h"

/// Steps 1 to 3 of column j of acc.
static float sum(const struct fovea_gemm_epilogue *epilogue, size_t i, size_t j)
{
    float v = epilogue->acc[(ptrdiff_t)i * epilogue->acc_row + (ptrdiff_t)j];
    if (epilogue->alpha != 1.0f) {
        v = epilogue->alpha * v;
    }
    if (epilogue->beta != 0.0f) {
        v = fmaf(epilogue->beta, epilogue->c[(ptrdiff_t)i * epilogue->c_row + (ptrdiff_t)j], v);
    }
    if (epilogue->bias) {
        v = v + epilogue->bias[j];
    }
    return v;
}

void fovea_gemm_epilogue_f32_scalar(const struct fovea_gemm_epilogue *epilogue)
{
    for (size_t i = 0; i < epilogue->m; i++) {
        float *const c = epilogue->c + (ptrdiff_t)i * epilogue->c_row;
        for (size_t j = 0; j < epilogue->n; j++) {
            float v = 0.0f;
            if (epilogue->gated) {
                v = scalar_activation(epilogue->act, sum(epilogue, i, 2 * j)) * sum(epilogue, i, 2 * j + 1);
            } else {
                v = scalar_activation(epilogue->act, sum(epilogue, i, j));
            }
            if (epilogue->residual) {
                v = v + epilogue->residual[(ptrdiff_t)i * epilogue->residual_row + (ptrdiff_t)j];
            }
            c[j] = v;
        }
    }
}
