// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_f16_f32_halves.c - few rows of C times panels of half precision, on AVX-512 in two halves.
#define FV_HALVES 1
#include "kernels/avx512/vec.h"

#define FEW_ELEMENT uint16_t
#define FEW_WIDEN fv_load_f16
#include "kernels/common/gemm_few_plain.h"
#include "kernels/common/gemm_few.h"

void FV_NAME(gemm_f16_f32_halves)(const struct fovea_gemm_few_tile *tile)
{
    few_gemm(tile);
}
