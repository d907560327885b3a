// SPDX-License-Identifier: Apache-2.0
// kernels/avx512/attention_block.h - a whole tile of prefill, 8 rows by 48 queries, in assembly.
//
// A step is 24 FMAs, 3 loads of B and 8 broadcasts of A, three of them inside their FMAs: an instruction less and two
// loads more for each. That makes 32 instructions, where gcc needs 35 to 39 for intrinsics (it copies sums between
// registers and spills pointers). They matter because a core whose other hyper-thread is busy issues two a cycle: 24
// FMAs in 32 instructions are then 75 % of the peak, in 38 they are 63 %. A core of its own issues four, and takes two
// loads a cycle, of which a step has 17 in its 12: three rows inside cost it 1 %, all 8 would 10 %. An address with an
// index would split an FMA from its load again, so of rows that are apart it is the ones without.
//
// zmm0 to zmm23 are the sums, row by row; zmm27 and zmm31 take elements of A in turn; zmm28 to zmm30 are B.
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
    "zmm23", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31"
#define BLOCK_INTO_L1 BLOCK_LOOP_INTO_L1

// A row whose element at `at` is broadcast inside the FMAs.
#define BLOCK_FMA_INSIDE(at, x, y, z)                                                                   \
    "vfmadd231ps " at "%{1to16%}, %%zmm28, %%zmm" x "\n\t"                                              \
    "vfmadd231ps " at "%{1to16%}, %%zmm29, %%zmm" y "\n\t"                                              \
    "vfmadd231ps " at "%{1to16%}, %%zmm30, %%zmm" z "\n\t"
#define BLOCK_NEAR(step, p)                                                                             \
    BLOCK_B(p)                                                                                          \
    BLOCK_FMA_INSIDE(step "*" p "(%[a0])", "0", "1", "2")                                               \
    BLOCK_FMA(step "*" p "+4(%[a0])", "31", "3", "4", "5")                                              \
    BLOCK_FMA(step "*" p "+8(%[a0])", "27", "6", "7", "8")                                              \
    BLOCK_FMA_INSIDE(step "*" p "+12(%[a0])", "9", "10", "11")                                          \
    BLOCK_FMA(step "*" p "+16(%[a0])", "31", "12", "13", "14")                                          \
    BLOCK_FMA(step "*" p "+20(%[a0])", "27", "15", "16", "17")                                          \
    BLOCK_FMA_INSIDE(step "*" p "+24(%[a0])", "18", "19", "20")                                         \
    BLOCK_FMA(step "*" p "+28(%[a0])", "31", "21", "22", "23")
#define BLOCK_APART(step, p)                                                                            \
    BLOCK_B(p)                                                                                          \
    BLOCK_FMA_INSIDE(step "*" p "(%[a0])", "0", "1", "2")                                               \
    BLOCK_FMA(step "*" p "(%[a0],%[s])", "31", "3", "4", "5")                                           \
    BLOCK_FMA(step "*" p "(%[a0],%[s],2)", "27", "6", "7", "8")                                         \
    BLOCK_FMA_INSIDE(step "*" p "(%[a1])", "9", "10", "11")                                             \
    BLOCK_FMA(step "*" p "(%[a1],%[s])", "31", "12", "13", "14")                                        \
    BLOCK_FMA(step "*" p "(%[a1],%[s],2)", "27", "15", "16", "17")                                      \
    BLOCK_FMA_INSIDE(step "*" p "(%[a2])", "18", "19", "20")                                            \
    BLOCK_FMA(step "*" p "(%[a2],%[s])", "31", "21", "22", "23")
// clang-format on

#include "kernels/common/attention_block.h"
#undef BLOCK_FMA_INSIDE

#endif
