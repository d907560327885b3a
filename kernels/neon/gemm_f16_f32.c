// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gemm_f16_f32.c - few rows of C times panels of half precision elements, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/gemm_f16_f32.inc"
