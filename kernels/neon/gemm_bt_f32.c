// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gemm_bt_f32.c - few rows of A times rows of B, transposed in blocks: 6 rows are 24 of 32 registers.
#include "kernels/neon/transpose.h"

#define GEMM_BT_MR 6
#define GEMM_BT_TRANSPOSE transpose_tile
#include "kernels/common/gemm_bt_f32.inc"
