// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/attention_decode_f32.c - one chunk of keys against a few queries, lanes are keys, on AVX2.
#include "kernels/avx2/transpose.h"
#define FV_GEMM fovea_gemm_f32_6x16_avx2
#define FV_GEMM_MR 6
#define FV_GEMM_NR 16
#define FV_DECODE_BESIDE 1
#include "kernels/common/attention_decode_f32.inc"
