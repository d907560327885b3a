// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_tail.h - the last steps of a tile of gemm_steps.h, and its stores between them.
//
// While all sums of a tile wait to be stored, Zen 4 does not issue an FMA a cycle: up to 50 cycles a tile. So the last
// four steps are computed for the upper half of the rows first. The lower half follows, and in its first step a sum of
// the upper half is stored after each FMA (docs/measurements/zen4.md, "Stores among FMAs", has the numbers, and other
// orders). Not measured elsewhere. The library is 1.03 times as large.
#ifndef FOVEA_KERNELS_AVX512_GEMM_TAIL_H
#define FOVEA_KERNELS_AVX512_GEMM_TAIL_H

#include "kernels/avx512/gemm_rows.h"

// clang-format off
// GEMM_ROWS of the upper half of M rows, and of the lower one, which has a row more if M is odd.
#define GEMM_UPPER_4 GEMM_ROWS_2
#define GEMM_UPPER_5 GEMM_ROWS_2
#define GEMM_UPPER_6 GEMM_ROWS_3
#define GEMM_UPPER_7 GEMM_ROWS_3
#define GEMM_UPPER_8 GEMM_ROWS_4
#define GEMM_UPPER_9 GEMM_ROWS_4
#define GEMM_UPPER_10 GEMM_ROWS_5
#define GEMM_UPPER_11 GEMM_ROWS_5
#define GEMM_UPPER_12 GEMM_ROWS_6
#define GEMM_UPPER_16 GEMM_ROWS_8
#define GEMM_LOWER_4(...) GEMM_ONE_2(__VA_ARGS__) GEMM_ONE_3(__VA_ARGS__)
#define GEMM_LOWER_5(...) GEMM_ONE_2(__VA_ARGS__) GEMM_ONE_3(__VA_ARGS__) GEMM_ONE_4(__VA_ARGS__)
#define GEMM_LOWER_6(...) GEMM_ONE_3(__VA_ARGS__) GEMM_ONE_4(__VA_ARGS__) GEMM_ONE_5(__VA_ARGS__)
#define GEMM_LOWER_7(...) GEMM_ONE_3(__VA_ARGS__) GEMM_ONE_4(__VA_ARGS__) GEMM_ONE_5(__VA_ARGS__) \
    GEMM_ONE_6(__VA_ARGS__)
#define GEMM_LOWER_8(...) GEMM_ONE_4(__VA_ARGS__) GEMM_ONE_5(__VA_ARGS__) GEMM_ONE_6(__VA_ARGS__) \
    GEMM_ONE_7(__VA_ARGS__)
#define GEMM_LOWER_9(...) GEMM_ONE_4(__VA_ARGS__) GEMM_ONE_5(__VA_ARGS__) GEMM_ONE_6(__VA_ARGS__) \
    GEMM_ONE_7(__VA_ARGS__) GEMM_ONE_8(__VA_ARGS__)
#define GEMM_LOWER_10(...) GEMM_ONE_5(__VA_ARGS__) GEMM_ONE_6(__VA_ARGS__) GEMM_ONE_7(__VA_ARGS__) \
    GEMM_ONE_8(__VA_ARGS__) GEMM_ONE_9(__VA_ARGS__)
#define GEMM_LOWER_11(...) GEMM_ONE_5(__VA_ARGS__) GEMM_ONE_6(__VA_ARGS__) GEMM_ONE_7(__VA_ARGS__) \
    GEMM_ONE_8(__VA_ARGS__) GEMM_ONE_9(__VA_ARGS__) GEMM_ONE_10(__VA_ARGS__)
#define GEMM_LOWER_12(...) GEMM_ONE_6(__VA_ARGS__) GEMM_ONE_7(__VA_ARGS__) GEMM_ONE_8(__VA_ARGS__) \
    GEMM_ONE_9(__VA_ARGS__) GEMM_ONE_10(__VA_ARGS__) GEMM_ONE_11(__VA_ARGS__)
#define GEMM_LOWER_16(...) GEMM_ONE_8(__VA_ARGS__) GEMM_ONE_9(__VA_ARGS__) GEMM_ONE_10(__VA_ARGS__) \
    GEMM_ONE_11(__VA_ARGS__) GEMM_ONE_12(__VA_ARGS__) GEMM_ONE_13(__VA_ARGS__) GEMM_ONE_14(__VA_ARGS__) \
    GEMM_ONE_15(__VA_ARGS__)
// A step of the lower half, in which a row of the upper one is stored beside each of its last rows.
#define GEMM_PAIR(i, j, V, last, at) GEMM_MIX(V, last, GEMM_A_AT_##i(at), GEMM_SUMS_##V##_##i, GEMM_SUMS_##V##_##j)
#define GEMM_PAIRS_4(V, last, at) GEMM_PAIR(2, 0, V, last, at) GEMM_PAIR(3, 1, V, last, at)
#define GEMM_PAIRS_5(V, last, at) GEMM_ONE_2(GEMM_FMAS, V, last, at) GEMM_PAIR(3, 0, V, last, at) \
    GEMM_PAIR(4, 1, V, last, at)
#define GEMM_PAIRS_6(V, last, at) GEMM_PAIR(3, 0, V, last, at) GEMM_PAIR(4, 1, V, last, at) \
    GEMM_PAIR(5, 2, V, last, at)
#define GEMM_PAIRS_7(V, last, at) GEMM_ONE_3(GEMM_FMAS, V, last, at) GEMM_PAIR(4, 0, V, last, at) \
    GEMM_PAIR(5, 1, V, last, at) GEMM_PAIR(6, 2, V, last, at)
#define GEMM_PAIRS_8(V, last, at) GEMM_PAIR(4, 0, V, last, at) GEMM_PAIR(5, 1, V, last, at) \
    GEMM_PAIR(6, 2, V, last, at) GEMM_PAIR(7, 3, V, last, at)
#define GEMM_PAIRS_9(V, last, at) GEMM_ONE_4(GEMM_FMAS, V, last, at) GEMM_PAIR(5, 0, V, last, at) \
    GEMM_PAIR(6, 1, V, last, at) GEMM_PAIR(7, 2, V, last, at) GEMM_PAIR(8, 3, V, last, at)
#define GEMM_PAIRS_10(V, last, at) GEMM_PAIR(5, 0, V, last, at) GEMM_PAIR(6, 1, V, last, at) \
    GEMM_PAIR(7, 2, V, last, at) GEMM_PAIR(8, 3, V, last, at) GEMM_PAIR(9, 4, V, last, at)
#define GEMM_PAIRS_11(V, last, at) GEMM_ONE_5(GEMM_FMAS, V, last, at) GEMM_PAIR(6, 0, V, last, at) \
    GEMM_PAIR(7, 1, V, last, at) GEMM_PAIR(8, 2, V, last, at) GEMM_PAIR(9, 3, V, last, at) \
    GEMM_PAIR(10, 4, V, last, at)
#define GEMM_PAIRS_12(V, last, at) GEMM_PAIR(6, 0, V, last, at) GEMM_PAIR(7, 1, V, last, at) \
    GEMM_PAIR(8, 2, V, last, at) GEMM_PAIR(9, 3, V, last, at) GEMM_PAIR(10, 4, V, last, at) \
    GEMM_PAIR(11, 5, V, last, at)
#define GEMM_PAIRS_16(V, last, at) GEMM_PAIR(8, 0, V, last, at) GEMM_PAIR(9, 1, V, last, at) \
    GEMM_PAIR(10, 2, V, last, at) GEMM_PAIR(11, 3, V, last, at) GEMM_PAIR(12, 4, V, last, at) \
    GEMM_PAIR(13, 5, V, last, at) GEMM_PAIR(14, 6, V, last, at) GEMM_PAIR(15, 7, V, last, at)
// s: sums of the row whose element lies at A; d: those that are done.
#define GEMM_MIX(V, ...) GEMM_MIX_##V(__VA_ARGS__) "add %[c_row], %[row]\n\t"
#define GEMM_MIX_A(A) "vbroadcastss " A ", %%zmm31\n\t"
#define GEMM_MIX_1(w, A, s0, d0) GEMM_FMA_INSIDE(w, A, "27", s0) GEMM_OUT_LAST("", d0)
#define GEMM_MIX_2(w, A, s0, s1, d0, d1) \
    GEMM_MIX_A(A) GEMM_FMA_OF(zmm, "27", s0) GEMM_OUT("", d0) \
    GEMM_FMA_OF(w, "28", s1) GEMM_OUT_LAST("64", d1)
#define GEMM_MIX_3(w, A, s0, s1, s2, d0, d1, d2) \
    GEMM_MIX_A(A) GEMM_FMA_OF(zmm, "27", s0) GEMM_OUT("", d0) GEMM_FMA_OF(zmm, "28", s1) GEMM_OUT("64", d1) \
    GEMM_FMA_OF(w, "29", s2) GEMM_OUT_LAST("128", d2)
#define GEMM_MIX_4(w, A, s0, s1, s2, s3, d0, d1, d2, d3) \
    GEMM_MIX_A(A) GEMM_FMA_OF(zmm, "27", s0) GEMM_OUT("", d0) GEMM_FMA_OF(zmm, "28", s1) GEMM_OUT("64", d1) \
    GEMM_FMA_OF(zmm, "29", s2) GEMM_OUT("128", d2) GEMM_FMA_OF(w, "26", s3) GEMM_OUT_LAST("192", d3)

// Computes the last %[tail] steps, which are four, stores all rows, and ends the tile; goes on at 4 if there are none.
#define GEMM_TAIL_UPPER(M, V, last, p, FORM, AHEAD) \
    GEMM_##FORM##_TAIL_B(V, last, p) GEMM_##AHEAD(V) GEMM_UPPER_##M(GEMM_FMAS, V, last, "4*" #p)
#define GEMM_TAIL_LOWER(M, V, last, p, FORM) \
    GEMM_##FORM##_TAIL_B(V, last, p) GEMM_LOWER_##M(GEMM_FMAS, V, last, "4*" #p)
#define GEMM_FOUR_STEPS(M, V, last, FORM, AHEAD) \
    "cmpq $0, %[tail]\n\tjz 4f\n\tmov %[c], %[row]\n\t" \
    GEMM_TAIL_UPPER(M, V, last, 0, FORM, AHEAD) GEMM_TAIL_UPPER(M, V, last, 1, FORM, AHEAD) \
    GEMM_TAIL_UPPER(M, V, last, 2, FORM, AHEAD) GEMM_TAIL_UPPER(M, V, last, 3, FORM, AHEAD) \
    GEMM_##FORM##_TAIL_B(V, last, 0) GEMM_PAIRS_##M(V, last, "4*0") GEMM_TAIL_LOWER(M, V, last, 1, FORM) \
    GEMM_TAIL_LOWER(M, V, last, 2, FORM) GEMM_TAIL_LOWER(M, V, last, 3, FORM) \
    GEMM_LOWER_##M(GEMM_STORE, V, last, "") "jmp 11f\n"

// The TAIL of GEMM_TILE, and its steps: none; or that, for tiles of at least 16 sums (of 8 and 12 it loses 0.05).
#define GEMM_NO_TAIL(M, V, last, FORM, AHEAD)
#define GEMM_NO_TAIL_STEPS(M, V) 0
#define GEMM_TAIL(M, V, ...) GEMM_SECOND(GEMM_TAIL_##M##_##V, GEMM_NO_TAIL, , )(M, V, __VA_ARGS__)
#define GEMM_TAIL_STEPS(M, V) GEMM_THIRD(GEMM_TAIL_##M##_##V, , 0, )
#define GEMM_SECOND(...) GEMM_SECOND_OF(__VA_ARGS__)
#define GEMM_SECOND_OF(first, second, ...) second
#define GEMM_THIRD(...) GEMM_THIRD_OF(__VA_ARGS__)
#define GEMM_THIRD_OF(first, second, third, ...) third
#define GEMM_TAIL_16_1 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_8_2 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_9_2 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_10_2 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_11_2 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_12_2 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_6_3 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_7_3 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_8_3 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_9_3 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_4_4 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_5_4 , GEMM_FOUR_STEPS, 4
#define GEMM_TAIL_6_4 , GEMM_FOUR_STEPS, 4
// clang-format on

#endif
