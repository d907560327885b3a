// SPDX-License-Identifier: Apache-2.0
// kernels/avx2/gemm_steps.h - a tile of the AVX2 GEMM in assembly: loading sums, k loop, storing sums.
//
// Four steps per iteration: ymm0 to ymm11 are the sums, row by row, ymm12 and ymm13 B, ymm15 an element of A. One step
// per iteration is as fast on a core of its own, but not next to a busy hyper-thread (Zen 3, operands in L1: 80 % of
// the peak with one step, 89 to 91 with four, 95 both when alone), probably because every iteration starts a new line
// of the op cache. gcc copies sums when it unrolls several steps of intrinsics. Eight steps gain nothing over four
// except in pointer updates.
#ifndef FOVEA_KERNELS_AVX2_GEMM_STEPS_H
#define FOVEA_KERNELS_AVX2_GEMM_STEPS_H

#include "kernels/avx2/gemm_terms.h"

_Static_assert(FOVEA_FAULT_GEMM_MUL_ADD == 1, "GEMM_FMA has the number");

// clang-format off
// X(at, index, sums) for each row: its element of A is at(%[a] index), `at` bytes further per step; its two sums.
#define GEMM_ROWS_1(X, at) X(at, "", "0", "1")
#define GEMM_ROWS_2(X, at) GEMM_ROWS_1(X, at) X(at, ",%[r1]", "2", "3")
#define GEMM_ROWS_3(X, at) GEMM_ROWS_2(X, at) X(at, ",%[r1],2", "4", "5")
#define GEMM_ROWS_4(X, at) GEMM_ROWS_3(X, at) X(at, ",%[r3]", "6", "7")
#define GEMM_ROWS_5(X, at) GEMM_ROWS_4(X, at) X(at, ",%[r1],4", "8", "9")
#define GEMM_ROWS_6(X, at) GEMM_ROWS_5(X, at) X(at, ",%[r5]", "10", "11")

#define GEMM_CLEAR(x) "vxorps %%xmm" x ", %%xmm" x ", %%xmm" x "\n\t"
#define GEMM_ZERO(at, index, x, y) GEMM_CLEAR(x) GEMM_CLEAR(y)
#define GEMM_NEXT_ROW "add %[c_row], %[row]\n\t"
#define GEMM_LOAD(at, index, x, y) "vmovups (%[row]), %%ymm" x "\n\tvmovups 32(%[row]), %%ymm" y "\n\t" GEMM_NEXT_ROW
#define GEMM_LOAD_FIRST(at, index, x, y) "vmovups (%[row]), %%ymm" x "\n\t" GEMM_NEXT_ROW
#define GEMM_LOAD_SECOND(at, index, x, y) "vmovups (%[row]), %%ymm" y "\n\t" GEMM_NEXT_ROW
#define GEMM_STORE(at, index, x, y) "vmovups %%ymm" x ", (%[row])\n\tvmovups %%ymm" y ", 32(%[row])\n\t" GEMM_NEXT_ROW
#define GEMM_STORE_FIRST(at, index, x, y) "vmovups %%ymm" x ", (%[row])\n\t" GEMM_NEXT_ROW
#define GEMM_STORE_SECOND(at, index, x, y) "vmovups %%ymm" y ", (%[row])\n\t" GEMM_NEXT_ROW
#if FOVEA_FAULT != 1 // FOVEA_FAULT_IS(GEMM_MUL_ADD), which the preprocessor cannot read
#define GEMM_FMA(b, sum) "vfmadd231ps %%ymm" b ", %%ymm15, %%ymm" sum "\n\t"
#else
#define GEMM_FMA(b, sum) "vmulps %%ymm" b ", %%ymm15, %%ymm14\n\tvaddps %%ymm14, %%ymm" sum ", %%ymm" sum "\n\t"
#endif
#define GEMM_A(at) "vbroadcastss " at ", %%ymm15\n\t"
#define GEMM_ROW(at, index, x, y) GEMM_A(at "(%[a]" index ")") GEMM_FMA("12", x) GEMM_FMA("13", y)
// With half a panel of B two tiles, one below the other, are computed; the second one's sums are where the sums of B's
// other half would be.
#define GEMM_PAIR(at, index, x, y)                                                                      \
    GEMM_A(at "(%[a]" index ")") GEMM_FMA("12", x) GEMM_A(at "(%[a2]" index ")") GEMM_FMA("12", y)

// The rows of C that a tile loads or stores: all at once, or those of the first of a pair and then those of the second,
// if there is one.
#define GEMM_ONE(M, what, label) GEMM_ROWS_##M(what, "")
#define GEMM_TWO(M, what, label)                                                                               \
    GEMM_ROWS_##M(what##_FIRST, "") "cmpq $0, %[second]\n\tjz " label "f\n\t" GEMM_ROWS_##M(what##_SECOND, "")  \
    label ":\n\t"

// Step p of an iteration. B is prefetched into L1 eight steps ahead: if it streams from L2, FMAs that were scheduled on
// a load that then misses L1 have to be reissued (Cascade Lake: 83 % of the peak without, 96 to 99 with). NEAR: k steps
// of A are adjacent, and B is a packed panel. APART: any strides.
#define GEMM_NEAR(M, p)                                                                                 \
    "vmovups 64*" p "(%[b]), %%ymm12\n\tvmovups 64*" p "+32(%[b]), %%ymm13\n\t"                         \
    "prefetcht0 64*" p "+512(%[b])\n\t" GEMM_ROWS_##M(GEMM_ROW, "4*" p)
#define GEMM_NEAR_STRIDE(bytes) "i"(0)
#define GEMM_NEAR_SECOND
#define GEMM_NEAR_SECOND_THERE , [terms] "m"(terms.any)
#define GEMM_NEAR_TERMS(M) GEMM_ADD_TERMS("6x16_" #M)
#define GEMM_NEAR_OF_C GEMM_ONE
#define GEMM_NEAR_NEXT(steps) "add $4*" steps ", %[a]\n\tadd $64*" steps ", %[b]\n\t"
#define GEMM_APART(M, p)                                                                                \
    "vmovups (%[b]), %%ymm12\n\tvmovups 32(%[b]), %%ymm13\n\tprefetcht0 (%[b],%[b_k],8)\n\t"            \
    GEMM_ROWS_##M(GEMM_ROW, "") "add %[a_k], %[a]\n\tadd %[b_k], %[b]\n\t"
#define GEMM_APART_STRIDE(bytes) "r"(bytes)
#define GEMM_APART_SECOND
#define GEMM_APART_SECOND_THERE , [terms] "m"(terms.any)
#define GEMM_APART_TERMS(M) GEMM_ADD_TERMS("6x16_" #M)
#define GEMM_APART_OF_C GEMM_ONE
#define GEMM_APART_NEXT(steps) ""
#define GEMM_NEAR2(M, p) "vmovups 64*" p "(%[b]), %%ymm12\n\t" GEMM_ROWS_##M(GEMM_PAIR, "4*" p)
#define GEMM_NEAR2_STRIDE(bytes) "i"(0)
#define GEMM_NEAR2_SECOND , [a2] "+&r"(a2)
#define GEMM_NEAR2_SECOND_THERE , [second] "m"(second)
#define GEMM_NEAR2_TERMS(M)
#define GEMM_NEAR2_OF_C GEMM_TWO
#define GEMM_NEAR2_NEXT(steps) GEMM_NEAR_NEXT(steps) "add $4*" steps ", %[a2]\n\t"
#define GEMM_APART2(M, p)                                                                               \
    "vmovups (%[b]), %%ymm12\n\t" GEMM_ROWS_##M(GEMM_PAIR, "")                                          \
    "add %[a_k], %[a]\n\tadd %[a_k], %[a2]\n\tadd %[b_k], %[b]\n\t"
#define GEMM_APART2_STRIDE(bytes) "r"(bytes)
#define GEMM_APART2_SECOND , [a2] "+&r"(a2)
#define GEMM_APART2_SECOND_THERE , [second] "m"(second)
#define GEMM_APART2_TERMS(M)
#define GEMM_APART2_OF_C GEMM_TWO
#define GEMM_APART2_NEXT(steps) ""

// What step p prefetches for later tiles: nothing, a line, or a line every second step, half a line each.
#define GEMM_NONE_STRIDE(bytes) "i"(0)
#define GEMM_NONE_0 ""
#define GEMM_NONE_1 ""
#define GEMM_NONE_2 ""
#define GEMM_NONE_3 ""
#define GEMM_LINE_STRIDE(bytes) "r"(bytes)
#define GEMM_LINE_0 "prefetcht1 (%[ahead])\n\t"
#define GEMM_LINE_1 "prefetcht1 (%[ahead],%[step])\n\t"
#define GEMM_LINE_2 "lea (%[ahead],%[step],2), %[ahead]\n\tprefetcht1 (%[ahead])\n\t"
#define GEMM_LINE_3 "prefetcht1 (%[ahead],%[step])\n\tlea (%[ahead],%[step],2), %[ahead]\n\t"
#define GEMM_HALF_STRIDE(bytes) "r"(bytes)
#define GEMM_HALF_0 "prefetcht1 (%[ahead])\n\t"
#define GEMM_HALF_1 ""
#define GEMM_HALF_2 "prefetcht1 (%[ahead],%[step],2)\n\t"
#define GEMM_HALF_3 "lea (%[ahead],%[step],4), %[ahead]\n\t"

// What each term of the epilogue does to the two sums of a row of a whole tile.
#define GEMM_SCALE(at, index, x, y) GEMM_TERM_SCALED(x) GEMM_TERM_SCALED(y)
#define GEMM_OLD(at, index, x, y) GEMM_TERM_OLD("", x) GEMM_TERM_OLD("32", y) GEMM_TERM_NEXT_OLD
#define GEMM_BIAS(at, index, x, y) GEMM_TERM_BIAS("12", x) GEMM_TERM_BIAS("13", y)
#define GEMM_RELU(at, index, x, y) GEMM_TERM_RELU(x) GEMM_TERM_RELU(y)
#define GEMM_RESIDUAL(at, index, x, y) GEMM_TERM_REST("", x) GEMM_TERM_REST("32", y) GEMM_TERM_NEXT_REST
#define GEMM_FETCH_OLD(at, index, x, y) "prefetcht0 (%rax)\n\t" GEMM_TERM_NEXT_OLD
#define GEMM_FETCH_RESIDUAL(at, index, x, y) "prefetcht0 (%rax)\n\t" GEMM_TERM_NEXT_REST
#define GEMM_TERMS_6X16(M) \
    GEMM_TERMS("6x16_" #M, GEMM_ROWS_OF_##M, GEMM, GEMM_TERM_LOAD("", "12") GEMM_TERM_LOAD("32", "13"))
#define GEMM_ROWS_OF_1(X) GEMM_ROWS_1(X, "")
#define GEMM_ROWS_OF_2(X) GEMM_ROWS_2(X, "")
#define GEMM_ROWS_OF_3(X) GEMM_ROWS_3(X, "")
#define GEMM_ROWS_OF_4(X) GEMM_ROWS_4(X, "")
#define GEMM_ROWS_OF_5(X) GEMM_ROWS_5(X, "")
#define GEMM_ROWS_OF_6(X) GEMM_ROWS_6(X, "")

// A tile of M rows at c, in the scope of GEMM_TILE or GEMM_NARROW: its sums start from the rows of C from `row` on, or
// from +0 if that is NULL.
#define GEMM_TILE_OF(M, FORM, AHEAD)                                                                    \
    __asm__ volatile(                                                                                   \
        GEMM_ROWS_##M(GEMM_ZERO, "") "test %[row], %[row]\n\tjz 6f\n\t" GEMM_##FORM##_OF_C(M, GEMM_LOAD, "5") \
        "6:\tsub $4, %[k]\n\tjb 2f\n\t.p2align 6\n"                                                     \
        "1:\n\t"                                                                                        \
        GEMM_##FORM(M, "0") GEMM_##AHEAD##_0 GEMM_##FORM(M, "1") GEMM_##AHEAD##_1                       \
        GEMM_##FORM(M, "2") GEMM_##AHEAD##_2 GEMM_##FORM(M, "3") GEMM_##AHEAD##_3                       \
        GEMM_##FORM##_NEXT("4") "sub $4, %[k]\n\tjae 1b\n"                                              \
        "2:\tadd $4, %[k]\n\tjz 4f\n"                                                                   \
        "3:\n\t" GEMM_##FORM(M, "0") GEMM_##FORM##_NEXT("1") "dec %[k]\n\tjnz 3b\n"                     \
        "4:\t" GEMM_##FORM##_TERMS(M) "mov %[c], %[row]\n\t" GEMM_##FORM##_OF_C(M, GEMM_STORE, "7")                 \
        : [a] "+&r"(a), [b] "+&r"(b), [k] "+&c"(k), [ahead] "+&r"(ahead), [row] "+&a"(row)              \
          GEMM_##FORM##_SECOND                                                                          \
        : [r1] "r"(r1), [r3] "r"(r3), [r5] "r"(r5), [c] "r"(c), [c_row] "r"(t->c_row * 4),           \
          [a_k] GEMM_##FORM##_STRIDE(t->a_k * 4), [b_k] GEMM_##FORM##_STRIDE(t->b_k * 4),               \
          [step] GEMM_##AHEAD##_STRIDE(t->ahead_step * 4) GEMM_##FORM##_SECOND_THERE                    \
        : "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10",      \
          "ymm11", "ymm12", "ymm13", "ymm14", "ymm15", "memory", "cc")
// clang-format on

#endif
