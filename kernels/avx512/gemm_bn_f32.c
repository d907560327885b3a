// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_bn_f32.c - a few steps of few rows of C over natural rows of B.
#include "kernels/avx512/vec.h"

#define GEMM_BN_MR 16
#include "kernels/common/gemm_bn_f32.inc"
