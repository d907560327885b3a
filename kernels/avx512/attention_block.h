// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_block.h - a whole tile of prefill, 8 rows by 48 queries, in assembly.
//
// A step is 24 FMAs, 3 loads of B and 8 broadcasts of A: 35 instructions. From intrinsics gcc generates 35 to 39 (it
// copies sums between registers and spills pointers). The number matters because a core whose other hyper-thread is
// busy issues two instructions a cycle: 24 FMAs in 35 instructions are then 69 % of the peak, in 38 63 %. If three rows
// were broadcast within their FMAs there would be 32 instructions, 75 %; but that is two more loads per row, and an
// idle core has only two load ports: Granite Rapids, d = 64 and 128, 128 to 4096 tokens, without them 1.02 to 1.055
// times as fast, with one row of them 1.01 to 1.02; Cascade Lake 1.01, all 8 rows 0.9.
//
// zmm0 to zmm23 are the sums, row by row; zmm27 and zmm31 alternately hold elements of A; zmm28 to zmm30 are B.
#ifndef FOVEA_KERNELS_AVX512_ATTENTION_BLOCK_H
#define FOVEA_KERNELS_AVX512_ATTENTION_BLOCK_H

#include "kernels/avx512/vec.h"

// clang-format off
#define BLOCK_REG "zmm"
#define BLOCK_BYTES "64"
#define BLOCK_CLEAR(x) "vpxord %%zmm" x ", %%zmm" x ", %%zmm" x "\n\t"
#define BLOCK_ROWS(X)                                                                                   \
    X("0", "0", "1", "2") X("192", "3", "4", "5") X("384", "6", "7", "8") X("576", "9", "10", "11")     \
    X("768", "12", "13", "14") X("960", "15", "16", "17") X("1152", "18", "19", "20") X("1344", "21", "22", "23")
#define BLOCK_B0 "28"
#define BLOCK_B1 "29"
#define BLOCK_B2 "30"
#define BLOCK_CLOBBERS "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", "zmm10", \
    "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", \
    "zmm23", "zmm24", "zmm25", "zmm26", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31"
#define BLOCK_INTO_L1 BLOCK_LOOP_INTO_L1

// The address of row i's element of step p, for BLOCK_NEAR and the like of the skeleton.
#define BLOCK_NEAR_A0(step, p) step "*" p "(%[a0])"
#define BLOCK_NEAR_A1(step, p) step "*" p "+4(%[a0])"
#define BLOCK_NEAR_A2(step, p) step "*" p "+8(%[a0])"
#define BLOCK_NEAR_A3(step, p) step "*" p "+12(%[a0])"
#define BLOCK_NEAR_A4(step, p) step "*" p "+16(%[a0])"
#define BLOCK_NEAR_A5(step, p) step "*" p "+20(%[a0])"
#define BLOCK_NEAR_A6(step, p) step "*" p "+24(%[a0])"
#define BLOCK_NEAR_A7(step, p) step "*" p "+28(%[a0])"
#define BLOCK_STRIDED_A0 BLOCK_NEAR_A0 // whose step is 0
#define BLOCK_STRIDED_A1 BLOCK_NEAR_A1
#define BLOCK_STRIDED_A2 BLOCK_NEAR_A2
#define BLOCK_STRIDED_A3 BLOCK_NEAR_A3
#define BLOCK_STRIDED_A4 BLOCK_NEAR_A4
#define BLOCK_STRIDED_A5 BLOCK_NEAR_A5
#define BLOCK_STRIDED_A6 BLOCK_NEAR_A6
#define BLOCK_STRIDED_A7 BLOCK_NEAR_A7
#define BLOCK_APART_A0(step, p) step "*" p "(%[a0])"
#define BLOCK_APART_A1(step, p) step "*" p "(%[a0],%[s])"
#define BLOCK_APART_A2(step, p) step "*" p "(%[a0],%[s],2)"
#define BLOCK_APART_A3(step, p) step "*" p "(%[a1])"
#define BLOCK_APART_A4(step, p) step "*" p "(%[a1],%[s])"
#define BLOCK_APART_A5(step, p) step "*" p "(%[a1],%[s],2)"
#define BLOCK_APART_A6(step, p) step "*" p "(%[a2])"
#define BLOCK_APART_A7(step, p) step "*" p "(%[a2],%[s])"
#define BLOCK_UPPER(FORM, step, p) \
    BLOCK_FMA(BLOCK_##FORM##_A0(step, p), "27", "0", "1", "2") \
    BLOCK_FMA(BLOCK_##FORM##_A1(step, p), "31", "3", "4", "5") \
    BLOCK_FMA(BLOCK_##FORM##_A2(step, p), "27", "6", "7", "8") \
    BLOCK_FMA(BLOCK_##FORM##_A3(step, p), "31", "9", "10", "11")
#define BLOCK_LOWER(FORM, step, p) \
    BLOCK_FMA(BLOCK_##FORM##_A4(step, p), "27", "12", "13", "14") \
    BLOCK_FMA(BLOCK_##FORM##_A5(step, p), "31", "15", "16", "17") \
    BLOCK_FMA(BLOCK_##FORM##_A6(step, p), "27", "18", "19", "20") \
    BLOCK_FMA(BLOCK_##FORM##_A7(step, p), "31", "21", "22", "23")
#define BLOCK_NEAR(step, p) BLOCK_B(p) BLOCK_UPPER(NEAR, step, p) BLOCK_LOWER(NEAR, step, p)
#define BLOCK_APART(step, p) BLOCK_B(p) BLOCK_UPPER(APART, step, p) BLOCK_LOWER(APART, step, p)

// The last turn, whose last two steps are first those of the upper half of the rows, then those of the lower one. Of
// these the first has, after each FMA, what the end does to a sum of the upper half, the second its store: while all
// sums wait to be stored, Zen 4 does not issue an FMA a cycle (docs/measurements/zen4.md, "Stores among FMAs"). zmm24
// to zmm26 are the lanes of the end.
#define BLOCK_HAS_TAIL 1
#define BLOCK_TAIL(FORM, step, END) \
    "cmpq $0, %[tail]\n\tjz 7f\n\t" \
    BLOCK_##FORM(step, "0") BLOCK_##FORM(step, "1") BLOCK_##FORM(step, "2") \
    BLOCK_##FORM(step, "3") BLOCK_##FORM(step, "4") BLOCK_##FORM(step, "5") \
    BLOCK_LANES_##END \
    BLOCK_B("6") BLOCK_UPPER(FORM, step, "6") BLOCK_ON_##FORM \
    BLOCK_B("7") BLOCK_UPPER(FORM, step, "7") BLOCK_BACK_##FORM \
    BLOCK_B("6") BLOCK_BESIDE(FORM, step, "6", BLOCK_DO_##END) BLOCK_ON_##FORM \
    BLOCK_B("7") BLOCK_BESIDE(FORM, step, "7", BLOCK_DO_KEEP) BLOCK_LAST_##END \
    "jmp 8f\n"
#define BLOCK_ON_NEAR
#define BLOCK_BACK_NEAR
#define BLOCK_ON_APART
#define BLOCK_BACK_APART
#define BLOCK_ON_STRIDED "add %[s], %[a0]\n\t"
#define BLOCK_BACK_STRIDED "sub %[s], %[a0]\n\t"
#define BLOCK_BESIDE(FORM, step, p, DO) \
    BLOCK_FMA_AND(BLOCK_##FORM##_A4(step, p), "27", "12", "13", "14", DO, "0", "0", "1", "2") \
    BLOCK_FMA_AND(BLOCK_##FORM##_A5(step, p), "31", "15", "16", "17", DO, "192", "3", "4", "5") \
    BLOCK_FMA_AND(BLOCK_##FORM##_A6(step, p), "27", "18", "19", "20", DO, "384", "6", "7", "8") \
    BLOCK_FMA_AND(BLOCK_##FORM##_A7(step, p), "31", "21", "22", "23", DO, "576", "9", "10", "11")
#define BLOCK_FMA_AND(A, by, x, y, z, DO, at, done_x, done_y, done_z) \
    "vbroadcastss " A ", %%zmm" by "\n\t" \
    "vfmadd231ps %%zmm28, %%zmm" by ", %%zmm" x "\n\t" DO(at, "24", done_x) \
    "vfmadd231ps %%zmm29, %%zmm" by ", %%zmm" y "\n\t" DO(at "+64", "25", done_y) \
    "vfmadd231ps %%zmm30, %%zmm" by ", %%zmm" z "\n\t" DO(at "+128", "26", done_z)
#define BLOCK_LANES_STORE
#define BLOCK_LANES_RAISE BLOCK_FROM("0(%[lanes])", "24", "25", "26")
#define BLOCK_LANES_RESCALE BLOCK_LANES_RAISE
#define BLOCK_LAST_ROWS(DO) \
    BLOCK_LAST(DO, "24", "25", "26", "768", "12", "13", "14") \
    BLOCK_LAST(DO, "24", "25", "26", "960", "15", "16", "17") \
    BLOCK_LAST(DO, "24", "25", "26", "1152", "18", "19", "20") \
    BLOCK_LAST(DO, "24", "25", "26", "1344", "21", "22", "23")
#define BLOCK_LAST_STORE BLOCK_LAST_ROWS(BLOCK_DO_STORE)
#define BLOCK_LAST_RAISE BLOCK_LAST_ROWS(BLOCK_DO_RAISE) BLOCK_TO("0(%[lanes])", "24", "25", "26")
#define BLOCK_LAST_RESCALE BLOCK_LAST_ROWS(BLOCK_DO_RESCALE)
// clang-format on

#include "kernels/common/attention_block.h"

#endif
