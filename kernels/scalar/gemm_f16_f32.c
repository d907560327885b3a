// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_f16_f32.c - few rows of C times panels of half precision elements, the definition.
#include "kernels/scalar/half.h"
#define FEW_ELEMENT uint16_t
#define FEW_LOAD(panel, p, column) from_f16((panel)[(p) * FOVEA_PANEL + (column)])
#include "kernels/scalar/few.h"

void fovea_gemm_f16_f32_scalar(const struct fovea_gemm_few_tile *tile)
{
    few_gemm(tile);
}
