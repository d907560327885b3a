// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_bf16_f32.c - few rows of C times panels of bfloat16 elements, the definition.
#include "kernels/scalar/half.h"
#define FEW_ELEMENT uint16_t
#define FEW_LOAD(panel, p, column) from_bf16((panel)[(p) * FOVEA_PANEL + (column)])
#include "kernels/scalar/few.h"

void fovea_gemm_bf16_f32_scalar(const struct fovea_gemm_few_tile *tile)
{
    few_gemm(tile);
}
