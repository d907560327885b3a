// SPDX-License-Identifier: Apache-2.0
// kernels/scalar/gemm_s8_f32.c - few rows of C times panels of 8-bit integers with scales, the definition.
#include "kernels/kernel.h"
#define FEW_ELEMENT uint8_t
#define FEW_LOAD from_s8

static inline float from_s8(const uint8_t *panel, size_t p, size_t column)
{
    const struct fovea_s8_group *const group = (const struct fovea_s8_group *)(const void *)panel + p / FOVEA_GROUP;
    return (float)(group->q[p % FOVEA_GROUP][column] - 128) * group->scale[column];
}

#include "kernels/scalar/few.h"

void fovea_gemm_s8_f32_scalar(const struct fovea_gemm_few_tile *tile)
{
    few_gemm(tile);
}
