// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_bt_f32.c - few rows of A times rows of B, transposed in blocks of 16 x 16.
#include "kernels/avx512/beside_rows.h"
#include "kernels/avx512/register_rows.h"
#include "kernels/common/transpose.h"

#define GEMM_BT_MR 16
#define GEMM_BT_TRANSPOSE fv_transpose
#include "kernels/common/gemm_bt_f32.inc"
