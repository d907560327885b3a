// SPDX-License-Identifier: Apache-2.0
// kernels/neon/attention_decode_f32.c - one chunk of keys against a few queries, lanes being keys, on NEON.
#include "kernels/neon/vec.h"
#define FV_GEMM fovea_gemm_f32_6x16_neon
#define FV_GEMM_MR 6
#define FV_GEMM_NR 16
#define FV_DECODE_BESIDE 0
#include "kernels/common/attention_decode_f32.inc"
