// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gemm_epilogue_f32.c - the end of a GEMM: alpha, beta, bias, activation, residual, on NEON.
#include "kernels/neon/vec.h"
#include "kernels/common/gemm_epilogue_f32.inc"
