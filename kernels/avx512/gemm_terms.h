// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_terms.h - what a tile of gemm_steps.h does to its sums before it stores them, in its registers.
#ifndef FOVEA_KERNELS_AVX512_GEMM_TERMS_H
#define FOVEA_KERNELS_AVX512_GEMM_TERMS_H

#include "kernels/avx512/gemm_rows.h"
#include "kernels/common/gemm_terms.h"

_Static_assert(FOVEA_FAULT_GEMM_TERMS_DROP_NAN == 115, "GEMM_TERM_RELU has the number");

// clang-format off
// rcx: struct gemm_terms; rax: a row of what is added; k1: the lanes of a row's last panel.
#define GEMM_TERM_SCALED(s) "vmulps 8(%rcx){1to16}, %zmm" s ", %zmm" s "\n\t"
#if FOVEA_FAULT != 115 // FOVEA_FAULT_IS(GEMM_TERMS_DROP_NAN), which the preprocessor cannot read
#define GEMM_TERM_RELU(s) "vmaxps %zmm" s ", %zmm31, %zmm" s "\n\t" // of 0 and NaN, or -0, the latter
#else
#define GEMM_TERM_RELU(s) "vmaxps %zmm31, %zmm" s ", %zmm" s "\n\t"
#endif
#define GEMM_TERM_OLD(at, s, mask) "vfmadd231ps " at "(%rax), %zmm31, %zmm" s mask "\n\t"
#define GEMM_TERM_REST(at, s, mask) "vaddps " at "(%rax), %zmm" s ", %zmm" s mask "\n\t"
#define GEMM_TERM_BIAS(b, s) "vaddps %zmm" b ", %zmm" s ", %zmm" s "\n\t"
#define GEMM_TERM_FETCH(at, s, mask) "prefetcht0 " at "(%rax)\n\t"
#define GEMM_TERM_LOAD(at, s, mask) "vmovups " at "(%rax), %zmm" s mask "\n\t"

// X(s) for each sum of a row, X(at, s, mask) with where its panel lies, and X(b, s) with a register of that panel.
#define GEMM_EACH_1(X, s0) X(s0)
#define GEMM_EACH_2(X, s0, s1) X(s0) X(s1)
#define GEMM_EACH_3(X, s0, s1, s2) X(s0) X(s1) X(s2)
#define GEMM_EACH_4(X, s0, s1, s2, s3) X(s0) X(s1) X(s2) X(s3)
#define GEMM_AT_1(X, z, s0) X("", s0, "{%k1}" z)
#define GEMM_AT_2(X, z, s0, s1) X("", s0, "") X("64", s1, "{%k1}" z)
#define GEMM_AT_3(X, z, s0, s1, s2) X("", s0, "") X("64", s1, "") X("128", s2, "{%k1}" z)
#define GEMM_AT_4(X, z, s0, s1, s2, s3) X("", s0, "") X("64", s1, "") X("128", s2, "") X("192", s3, "{%k1}" z)
#define GEMM_BESIDE_1(X, s0) X("27", s0)
#define GEMM_BESIDE_2(X, s0, s1) GEMM_BESIDE_1(X, s0) X("28", s1)
#define GEMM_BESIDE_3(X, s0, s1, s2) GEMM_BESIDE_2(X, s0, s1) X("29", s2)
#define GEMM_BESIDE_4(X, s0, s1, s2, s3) GEMM_BESIDE_3(X, s0, s1, s2) X("26", s3)

// For GEMM_ROWS of gemm_rows.h, of which it is the sums that matter.
#define GEMM_SCALE(V, last, A, ...) GEMM_EACH_##V(GEMM_TERM_SCALED, __VA_ARGS__)
#define GEMM_OLD(V, last, A, ...) GEMM_AT_##V(GEMM_TERM_OLD, "", __VA_ARGS__) "add 40(%rcx), %rax\n\t"
#define GEMM_BIAS(V, last, A, ...) GEMM_BESIDE_##V(GEMM_TERM_BIAS, __VA_ARGS__)
#define GEMM_RELU(V, last, A, ...) GEMM_EACH_##V(GEMM_TERM_RELU, __VA_ARGS__)
#define GEMM_RESIDUAL(V, last, A, ...) GEMM_AT_##V(GEMM_TERM_REST, "", __VA_ARGS__) "add 64(%rcx), %rax\n\t"
#define GEMM_FETCH_OLD(V, last, A, ...) GEMM_AT_##V(GEMM_TERM_FETCH, "", __VA_ARGS__) "add 40(%rcx), %rax\n\t"
#define GEMM_FETCH_RESIDUAL(V, last, A, ...) GEMM_AT_##V(GEMM_TERM_FETCH, "", __VA_ARGS__) "add 64(%rcx), %rax\n\t"
#define GEMM_SCALE_OWN GEMM_SCALE
#define GEMM_OLD_OWN GEMM_OLD
#define GEMM_BIAS_OWN GEMM_BIAS
#define GEMM_RELU_OWN GEMM_RELU
#define GEMM_RESIDUAL_OWN GEMM_RESIDUAL
#define GEMM_FETCH_OLD_OWN GEMM_FETCH_OLD
#define GEMM_FETCH_RESIDUAL_OWN GEMM_FETCH_RESIDUAL
#define GEMM_BIAS_IN_1 GEMM_AT_1(GEMM_TERM_LOAD, "{z}", "27")
#define GEMM_BIAS_IN_2 GEMM_AT_2(GEMM_TERM_LOAD, "{z}", "27", "28")
#define GEMM_BIAS_IN_3 GEMM_AT_3(GEMM_TERM_LOAD, "{z}", "27", "28", "29")
#define GEMM_BIAS_IN_4 GEMM_AT_4(GEMM_TERM_LOAD, "{z}", "27", "28", "29", "26")

/// Defines the routine of M rows and V panels. It changes rax, rcx, k1, zmm31, the registers of B, and the sums.
#define GEMM_TERMS(M, V)                                                                                              \
    GEMM_TERMS_ROUTINE(#M "x" #V, "kmovw 4(%rcx), %k1\n\t", GEMM_ROWS_##M(GEMM_SCALE, V, zmm, ""),                    \
                       "vbroadcastss 12(%rcx), %zmm31\n\t" GEMM_ROWS_##M(GEMM_OLD, V, zmm, ""),                      \
                       GEMM_BIAS_IN_##V GEMM_ROWS_##M(GEMM_BIAS, V, zmm, ""),                                         \
                       "vpxord %zmm31, %zmm31, %zmm31\n\t" GEMM_ROWS_##M(GEMM_RELU, V, zmm, ""),                     \
                       GEMM_ROWS_##M(GEMM_RESIDUAL, V, zmm, ""), GEMM_ROWS_##M(GEMM_FETCH_OLD, V, zmm, ""),           \
                       GEMM_ROWS_##M(GEMM_FETCH_RESIDUAL, V, zmm, ""))
// clang-format on

#endif
