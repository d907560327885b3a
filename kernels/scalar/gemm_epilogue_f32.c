// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_epilogue_f32.c - the end of a GEMM, the definition (docs/numerics.md section 2, steps 1 to 5).
#include "kernels/kernel.h"
#include "kernels/scalar/activation.h"

void fovea_gemm_epilogue_f32_scalar(const struct fovea_gemm_epilogue *epilogue)
{
    for (size_t i = 0; i < epilogue->m; i++) {
        const float *const acc = epilogue->acc + (ptrdiff_t)i * epilogue->acc_row;
        float *const c = epilogue->c + (ptrdiff_t)i * epilogue->c_row;
        for (size_t j = 0; j < epilogue->n; j++) {
            float v = acc[j];
            if (epilogue->alpha != 1.0f) {
                v = epilogue->alpha * v;
            }
            if (epilogue->beta != 0.0f) {
                v = fmaf(epilogue->beta, c[j], v);
            }
            if (epilogue->bias) {
                v = v + epilogue->bias[j];
            }
            v = scalar_activation(epilogue->act, v);
            if (epilogue->residual) {
                v = v + epilogue->residual[(ptrdiff_t)i * epilogue->residual_row + (ptrdiff_t)j];
            }
            c[j] = v;
        }
    }
}
