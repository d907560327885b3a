// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gemm_s8_f32.c - few rows of C times panels of 8-bit integers with scales, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/gemm_s8_f32.inc"
