// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_decode_f32_halves.c - one chunk of keys against a few queries, on AVX-512 in two halves.
#define FV_HALVES 1
#include "kernels/avx512/register_rows.h"
#define FV_GEMM fovea_gemm_f32_9x48_avx512
#define FV_GEMM_MR 8
#define FV_GEMM_NR 48
#define FV_DECODE_BESIDE 0
#include "kernels/common/attention_decode_f32.inc"
