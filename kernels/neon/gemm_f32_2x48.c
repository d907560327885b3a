// SPDX-License-Identifier: Apache-2.0
// kernels/neon/gemm_f32_2x48.c - f32 GEMM micro-kernel, C[2,48] += A[2,k] * B[k,48], for one or two rows of C.
//
// 6x16 has 4 chains of FMAs for one row, fewer than hide the latency of any core. Three panels are 12 chains for one
// row and 24 for two: 24 accumulators and 2 elements of A leave 6 of 32 registers for B. llvm-mca-19, cycles for a step
// of a panel, gcc 12: one row 2.2 on neoverse-n1, 2.0 on -n2, 1.5 on -v1 and -v2, where 6x16 takes 4.0 and, on -v2,
// 2.0; two rows 4.0 on -n1 and -n2, as 6x16, 2.0 on -v1 and -v2 for 4.0 and 2.4. Not measured on hardware.
#include "kernels/neon/vec.h"
#include "kernels/common/gemm_f32_2x48.inc"
