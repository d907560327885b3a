// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_f16_f32.c - few rows of C times panels of half precision elements, the definition.
#include "kernels/scalar/half.h"

void fovea_gemm_f16_f32_scalar(const struct fovea_gemm_half_tile *tile)
{
    half_gemm(tile, from_f16);
}
