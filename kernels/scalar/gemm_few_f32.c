// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_few_f32.c - few rows of C times panels of f32, the definition.
#define FEW_ELEMENT float
#define FEW_LOAD(panel, p, column) (panel)[(p) * FOVEA_PANEL + (column)]
#include "kernels/scalar/few.h"

void fovea_gemm_few_f32_scalar(const struct fovea_gemm_few_tile *tile)
{
    few_gemm(tile);
}
