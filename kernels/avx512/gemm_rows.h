// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/gemm_rows.h - the rows of a tile of gemm_steps.h: where their elements of A lie, and their sums.
#ifndef FOVEA_KERNELS_AVX512_GEMM_ROWS_H
#define FOVEA_KERNELS_AVX512_GEMM_ROWS_H

// clang-format off
// The sums of row i of V panels.
#define GEMM_SUMS_1_0 "0"
#define GEMM_SUMS_1_1 "1"
#define GEMM_SUMS_1_2 "2"
#define GEMM_SUMS_1_3 "3"
#define GEMM_SUMS_1_4 "4"
#define GEMM_SUMS_1_5 "5"
#define GEMM_SUMS_1_6 "6"
#define GEMM_SUMS_1_7 "7"
#define GEMM_SUMS_1_8 "8"
#define GEMM_SUMS_1_9 "9"
#define GEMM_SUMS_1_10 "10"
#define GEMM_SUMS_1_11 "11"
#define GEMM_SUMS_1_12 "12"
#define GEMM_SUMS_1_13 "13"
#define GEMM_SUMS_1_14 "14"
#define GEMM_SUMS_1_15 "15"
#define GEMM_SUMS_2_0 "0", "1"
#define GEMM_SUMS_2_1 "2", "3"
#define GEMM_SUMS_2_2 "4", "5"
#define GEMM_SUMS_2_3 "6", "7"
#define GEMM_SUMS_2_4 "8", "9"
#define GEMM_SUMS_2_5 "10", "11"
#define GEMM_SUMS_2_6 "12", "13"
#define GEMM_SUMS_2_7 "14", "15"
#define GEMM_SUMS_2_8 "16", "17"
#define GEMM_SUMS_2_9 "18", "19"
#define GEMM_SUMS_2_10 "20", "21"
#define GEMM_SUMS_2_11 "22", "23"
#define GEMM_SUMS_3_0 "0", "1", "2"
#define GEMM_SUMS_3_1 "3", "4", "5"
#define GEMM_SUMS_3_2 "6", "7", "8"
#define GEMM_SUMS_3_3 "9", "10", "11"
#define GEMM_SUMS_3_4 "12", "13", "14"
#define GEMM_SUMS_3_5 "15", "16", "17"
#define GEMM_SUMS_3_6 "18", "19", "20"
#define GEMM_SUMS_3_7 "21", "22", "23"
#define GEMM_SUMS_3_8 "24", "25", "26"
#define GEMM_SUMS_4_0 "0", "1", "2", "3"
#define GEMM_SUMS_4_1 "4", "5", "6", "7"
#define GEMM_SUMS_4_2 "8", "9", "10", "11"
#define GEMM_SUMS_4_3 "12", "13", "14", "15"
#define GEMM_SUMS_4_4 "16", "17", "18", "19"
#define GEMM_SUMS_4_5 "20", "21", "22", "23"

// X(V, last, A, its sums) for row i: its element lies at A, `at` bytes on; last: the registers of the last of V panels,
// zmm or ymm. x86 addresses base + {0, 1, 2} * stride: one moving pointer serves three rows. X_OWN is for the first of
// them, whose address has no index.
#define GEMM_A_AT_0(at) at "(%[a0])"
#define GEMM_A_AT_1(at) at "(%[a0],%[r1])"
#define GEMM_A_AT_2(at) at "(%[a0],%[r1],2)"
#define GEMM_A_AT_3(at) at "(%[a1])"
#define GEMM_A_AT_4(at) at "(%[a1],%[r1])"
#define GEMM_A_AT_5(at) at "(%[a1],%[r1],2)"
#define GEMM_A_AT_6(at) at "(%[a2])"
#define GEMM_A_AT_7(at) at "(%[a2],%[r1])"
#define GEMM_A_AT_8(at) at "(%[a2],%[r1],2)"
#define GEMM_A_AT_9(at) at "(%[a3])"
#define GEMM_A_AT_10(at) at "(%[a3],%[r1])"
#define GEMM_A_AT_11(at) at "(%[a3],%[r1],2)"
#define GEMM_A_AT_12(at) at "(%[a4])"
#define GEMM_A_AT_13(at) at "(%[a4],%[r1])"
#define GEMM_A_AT_14(at) at "(%[a4],%[r1],2)"
#define GEMM_A_AT_15(at) at "(%[a5])"
#define GEMM_ONE_0(X, V, last, at) X##_OWN(V, last, GEMM_A_AT_0(at), GEMM_SUMS_##V##_0)
#define GEMM_ONE_1(X, V, last, at) X(V, last, GEMM_A_AT_1(at), GEMM_SUMS_##V##_1)
#define GEMM_ONE_2(X, V, last, at) X(V, last, GEMM_A_AT_2(at), GEMM_SUMS_##V##_2)
#define GEMM_ONE_3(X, V, last, at) X##_OWN(V, last, GEMM_A_AT_3(at), GEMM_SUMS_##V##_3)
#define GEMM_ONE_4(X, V, last, at) X(V, last, GEMM_A_AT_4(at), GEMM_SUMS_##V##_4)
#define GEMM_ONE_5(X, V, last, at) X(V, last, GEMM_A_AT_5(at), GEMM_SUMS_##V##_5)
#define GEMM_ONE_6(X, V, last, at) X##_OWN(V, last, GEMM_A_AT_6(at), GEMM_SUMS_##V##_6)
#define GEMM_ONE_7(X, V, last, at) X(V, last, GEMM_A_AT_7(at), GEMM_SUMS_##V##_7)
#define GEMM_ONE_8(X, V, last, at) X(V, last, GEMM_A_AT_8(at), GEMM_SUMS_##V##_8)
#define GEMM_ONE_9(X, V, last, at) X##_OWN(V, last, GEMM_A_AT_9(at), GEMM_SUMS_##V##_9)
#define GEMM_ONE_10(X, V, last, at) X(V, last, GEMM_A_AT_10(at), GEMM_SUMS_##V##_10)
#define GEMM_ONE_11(X, V, last, at) X(V, last, GEMM_A_AT_11(at), GEMM_SUMS_##V##_11)
#define GEMM_ONE_12(X, V, last, at) X##_OWN(V, last, GEMM_A_AT_12(at), GEMM_SUMS_##V##_12)
#define GEMM_ONE_13(X, V, last, at) X(V, last, GEMM_A_AT_13(at), GEMM_SUMS_##V##_13)
#define GEMM_ONE_14(X, V, last, at) X(V, last, GEMM_A_AT_14(at), GEMM_SUMS_##V##_14)
#define GEMM_ONE_15(X, V, last, at) X##_OWN(V, last, GEMM_A_AT_15(at), GEMM_SUMS_##V##_15)
// The same for each of M rows.
#define GEMM_ROWS_1(...) GEMM_ONE_0(__VA_ARGS__)
#define GEMM_ROWS_2(...) GEMM_ROWS_1(__VA_ARGS__) GEMM_ONE_1(__VA_ARGS__)
#define GEMM_ROWS_3(...) GEMM_ROWS_2(__VA_ARGS__) GEMM_ONE_2(__VA_ARGS__)
#define GEMM_ROWS_4(...) GEMM_ROWS_3(__VA_ARGS__) GEMM_ONE_3(__VA_ARGS__)
#define GEMM_ROWS_5(...) GEMM_ROWS_4(__VA_ARGS__) GEMM_ONE_4(__VA_ARGS__)
#define GEMM_ROWS_6(...) GEMM_ROWS_5(__VA_ARGS__) GEMM_ONE_5(__VA_ARGS__)
#define GEMM_ROWS_7(...) GEMM_ROWS_6(__VA_ARGS__) GEMM_ONE_6(__VA_ARGS__)
#define GEMM_ROWS_8(...) GEMM_ROWS_7(__VA_ARGS__) GEMM_ONE_7(__VA_ARGS__)
#define GEMM_ROWS_9(...) GEMM_ROWS_8(__VA_ARGS__) GEMM_ONE_8(__VA_ARGS__)
#define GEMM_ROWS_10(...) GEMM_ROWS_9(__VA_ARGS__) GEMM_ONE_9(__VA_ARGS__)
#define GEMM_ROWS_11(...) GEMM_ROWS_10(__VA_ARGS__) GEMM_ONE_10(__VA_ARGS__)
#define GEMM_ROWS_12(...) GEMM_ROWS_11(__VA_ARGS__) GEMM_ONE_11(__VA_ARGS__)
#define GEMM_ROWS_13(...) GEMM_ROWS_12(__VA_ARGS__) GEMM_ONE_12(__VA_ARGS__)
#define GEMM_ROWS_14(...) GEMM_ROWS_13(__VA_ARGS__) GEMM_ONE_13(__VA_ARGS__)
#define GEMM_ROWS_15(...) GEMM_ROWS_14(__VA_ARGS__) GEMM_ONE_14(__VA_ARGS__)
#define GEMM_ROWS_16(...) GEMM_ROWS_15(__VA_ARGS__) GEMM_ONE_15(__VA_ARGS__)

// What moves the pointers of M rows, and their operands.
#define GEMM_MOVES_1(by) "add " by ", %[a0]\n\t"
#define GEMM_MOVES_2(by) GEMM_MOVES_1(by)
#define GEMM_MOVES_3(by) GEMM_MOVES_1(by)
#define GEMM_MOVES_4(by) GEMM_MOVES_3(by) "add " by ", %[a1]\n\t"
#define GEMM_MOVES_5(by) GEMM_MOVES_4(by)
#define GEMM_MOVES_6(by) GEMM_MOVES_4(by)
#define GEMM_MOVES_7(by) GEMM_MOVES_6(by) "add " by ", %[a2]\n\t"
#define GEMM_MOVES_8(by) GEMM_MOVES_7(by)
#define GEMM_MOVES_9(by) GEMM_MOVES_7(by)
#define GEMM_MOVES_10(by) GEMM_MOVES_9(by) "add " by ", %[a3]\n\t"
#define GEMM_MOVES_11(by) GEMM_MOVES_10(by)
#define GEMM_MOVES_12(by) GEMM_MOVES_10(by)
#define GEMM_MOVES_13(by) GEMM_MOVES_12(by) "add " by ", %[a4]\n\t"
#define GEMM_MOVES_14(by) GEMM_MOVES_13(by)
#define GEMM_MOVES_15(by) GEMM_MOVES_13(by)
#define GEMM_MOVES_16(by) GEMM_MOVES_15(by) "add " by ", %[a5]\n\t"
#define GEMM_A_1 [a0] "+&r"(a[0])
#define GEMM_A_2 GEMM_A_1
#define GEMM_A_3 GEMM_A_1
#define GEMM_A_4 GEMM_A_3, [a1] "+&r"(a[1])
#define GEMM_A_5 GEMM_A_4
#define GEMM_A_6 GEMM_A_4
#define GEMM_A_7 GEMM_A_6, [a2] "+&r"(a[2])
#define GEMM_A_8 GEMM_A_7
#define GEMM_A_9 GEMM_A_7
#define GEMM_A_10 GEMM_A_9, [a3] "+&r"(a[3])
#define GEMM_A_11 GEMM_A_10
#define GEMM_A_12 GEMM_A_10
#define GEMM_A_13 GEMM_A_12, [a4] "+&r"(a[4])
#define GEMM_A_14 GEMM_A_13
#define GEMM_A_15 GEMM_A_13
#define GEMM_A_16 GEMM_A_15, [a5] "+&r"(a[5])
// clang-format on

#endif
