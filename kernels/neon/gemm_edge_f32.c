// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gemm_edge_f32.c - up to eight columns of C, the last ones, on NEON.
#include "kernels/neon/vec.h"

#include "kernels/common/gemm_edge_f32.inc"
