// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gemm_few_f32.c - few rows of C times panels of f32 from memory, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/gemm_few_f32.inc"
