// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_terms.h - applies the epilogue of a whole 6x16 or 3x32 tile to its sums, in registers, before they
// are stored. A tile whose columns are not whole vectors goes through a buffer and the epilogue kernel.
//
// ymm0 to ymm11 are the sums. A tile no longer needs A and B at this point, so ymm12 to ymm15 are free.
#ifndef FOVEA_KERNELS_AVX2_GEMM_TERMS_H
#define FOVEA_KERNELS_AVX2_GEMM_TERMS_H

#include "kernels/common/gemm_terms.h"

_Static_assert(FOVEA_FAULT_GEMM_TERMS_DROP_NAN == 115, "GEMM_TERM_RELU has the number");

// clang-format off
#define GEMM_TERM_SCALED(s) "vmulps %ymm12, %ymm" s ", %ymm" s "\n\t"
#if FOVEA_FAULT != 115 // FOVEA_FAULT_IS(GEMM_TERMS_DROP_NAN), which the preprocessor cannot read
#define GEMM_TERM_RELU(s) "vmaxps %ymm" s ", %ymm15, %ymm" s "\n\t" // of 0 and NaN, or -0, the latter
#else
#define GEMM_TERM_RELU(s) "vmaxps %ymm15, %ymm" s ", %ymm" s "\n\t"
#endif
#define GEMM_TERM_OLD(at, s) "vfmadd231ps " at "(%rax), %ymm15, %ymm" s "\n\t"
#define GEMM_TERM_REST(at, s) "vaddps " at "(%rax), %ymm" s ", %ymm" s "\n\t"
#define GEMM_TERM_BIAS(b, s) "vaddps %ymm" b ", %ymm" s ", %ymm" s "\n\t"
#define GEMM_TERM_LOAD(at, s) "vmovups " at "(%rax), %ymm" s "\n\t"
#define GEMM_TERM_NEXT_OLD "add 40(%rcx), %rax\n\t"
#define GEMM_TERM_NEXT_REST "add 64(%rcx), %rax\n\t"

/// Defines the routine of a tile; ROWS(X) is X(..., its sums) for each of its rows, and each NAME is such an X. It
/// changes rax, rcx, ymm12 to ymm15, and the sums.
#define GEMM_TERMS(size, ROWS, NAME, LOAD_BIAS)                                                                       \
    GEMM_TERMS_ROUTINE(size, "", "vbroadcastss 8(%rcx), %ymm12\n\t" ROWS(NAME##_SCALE),                               \
                       "vbroadcastss 12(%rcx), %ymm15\n\t" ROWS(NAME##_OLD), LOAD_BIAS ROWS(NAME##_BIAS),             \
                       "vxorps %ymm15, %ymm15, %ymm15\n\t" ROWS(NAME##_RELU), ROWS(NAME##_RESIDUAL),                  \
                       ROWS(NAME##_FETCH_OLD), ROWS(NAME##_FETCH_RESIDUAL))
// clang-format on

#endif
